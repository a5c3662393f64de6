// A self-signed certificate with its key, for tests of TLS.
#pragma once

#include <chrono>
#include <string>

namespace holdfast::test {

struct TestCertificate {
  std::string certificate_pem;
  std::string private_key_pem;
};

// ECDSA P-256, valid from an hour ago, for localhost and 127.0.0.1.
TestCertificate make_test_certificate(const std::string& common_name,
                                      std::chrono::minutes left = std::chrono::hours(24));

}  // namespace holdfast::test

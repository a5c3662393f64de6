// What an authority's certificate and a certificate that it issues have in common while they are
// made. Private to identity.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "identity/certificate.h"
#include "identity/openssl.h"

namespace holdfast::identity::ssl {

// A failure of OpenSSL that input cannot cause: no memory, or no randomness.
Status out_of_resources();

class Builder {
 public:
  // Version 3, a serial number of 128 random bits, this life in whole seconds, this key.
  static Result<Builder> start(const Validity& validity, EVP_PKEY& public_key);

  X509& certificate() { return *certificate_; }
  // Adds to the subject; cut to the 64 bytes that X.509 allows.
  Status add_subject(int nid, std::string_view text);
  // As in OpenSSL's configuration. Requires: `value` is ours, never a peer's. `issuer` gives the
  // key's identifier.
  Status add_extension(int nid, const char* value, X509& issuer);
  Status add_alt_names(const GENERAL_NAMES& names);
  // The signed certificate in PEM.
  Result<std::string> sign(X509& issuer, EVP_PKEY& issuer_key);

 private:
  explicit Builder(Certificate certificate) : certificate_(std::move(certificate)) {}
  Certificate certificate_;
};

}  // namespace holdfast::identity::ssl

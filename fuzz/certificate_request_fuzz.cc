// Foreign bytes as a certificate request, in PEM or as what PEM would hold: what is issued for one
// names whom we say, whatever the request says.
#include <openssl/evp.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "identity/certificate.h"

namespace {

using namespace holdfast;
using namespace holdfast::identity;

constexpr WallTime kCertificateRequestNow(std::chrono::milliseconds(1'700'000'000'000));
constexpr Validity kDay{.not_before = kCertificateRequestNow,
                        .not_after = kCertificateRequestNow + std::chrono::hours(24)};

std::string certificate_request_as_pem(const std::string& der) {
  std::string text(4 * ((der.size() + 2) / 3) + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                   reinterpret_cast<const unsigned char*>(der.data()),
                                   static_cast<int>(der.size()));
  text.resize(static_cast<size_t>(size));
  std::string pem = "-----BEGIN CERTIFICATE REQUEST-----\n";
  for (size_t i = 0; i < text.size(); i += 64) pem += text.substr(i, 64) + "\n";
  return pem + "-----END CERTIFICATE REQUEST-----\n";
}

void issue_for(const std::string& request_pem) {
  static const SigningKey authority = make_authority("prod", kDay).value();
  const CertificateSpec spec{
      .identity = {.role = Role::Proxy, .cluster = "prod", .name = "px-1", .zone = "a"},
      .hosts = {"px.example"},
      .validity = kDay};
  const auto pem = issue(authority, spec, request_pem);
  if (!pem.ok()) {
    HF_CHECK(pem.status().code() == absl::StatusCode::kInvalidArgument, "the request is to blame");
    return;
  }
  Trust trust;
  HF_CHECK(trust.set("prod", authority.certificate_pem).ok(), "our own authority");
  const auto peer = trust.verify(*pem, kCertificateRequestNow);
  HF_CHECK(peer.ok() && peer->identity == spec.identity, "what is issued is believed as it is");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  issue_for(bytes);
  issue_for(certificate_request_as_pem(bytes));
  return 0;
}

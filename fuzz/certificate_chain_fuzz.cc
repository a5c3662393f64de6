// Foreign bytes as a peer's certificates: nobody is believed whom our authority did not name.
#include <openssl/evp.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "base/reason.h"
#include "identity/certificate.h"

namespace {

using namespace holdfast;
using namespace holdfast::identity;

constexpr WallTime kNow(std::chrono::milliseconds(1'700'000'000'000));

std::string as_pem(const std::string& der) {
  std::string text(4 * ((der.size() + 2) / 3) + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                   reinterpret_cast<const unsigned char*>(der.data()),
                                   static_cast<int>(der.size()));
  text.resize(static_cast<size_t>(size));
  std::string pem = "-----BEGIN CERTIFICATE-----\n";
  for (size_t i = 0; i < text.size(); i += 64) pem += text.substr(i, 64) + "\n";
  return pem + "-----END CERTIFICATE-----\n";
}

void present(const std::string& pem) {
  Trust trust;
  // The authority's key is made here and never leaves, so no input can be signed by it.
  static const SigningKey authority =
      make_authority("prod", {.not_before = kNow, .not_after = kNow + std::chrono::hours(24)})
          .value();
  HF_CHECK(trust.set("prod", authority.certificate_pem).ok(), "our own authority");
  const auto peer = trust.verify(pem, kNow);
  HF_CHECK(!peer.ok() && split_reason(peer.status()).code == "HF5004", "a stranger is refused");
  HF_CHECK(trust.cached() == 0, "a refusal is not remembered");
  (void)identity_of(pem);
  (void)validity_of(pem);
  (void)pin_of(pem);
  if (const auto chain = split_chain(pem); chain.ok()) {
    HF_CHECK(!chain->empty(), "a chain has a certificate");
    (void)trust.set("prod", pem);  // may be an authority's; must not crash
    (void)trust.verify(chain->front(), kNow);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  present(bytes);
  present(as_pem(bytes));
  return 0;
}

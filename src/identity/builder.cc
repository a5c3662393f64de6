#include "identity/builder.h"

#include <algorithm>

namespace holdfast::identity::ssl {
namespace {

constexpr int kSerialBits = 128;
constexpr size_t kMaxSubjectBytes = 64;

bool set_serial(X509& certificate) {
  const BigNumber number(BN_new());
  return number != nullptr &&
         BN_rand(number.get(), kSerialBits, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
         !BN_is_zero(number.get()) &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(&certificate)) != nullptr;
}

}  // namespace

Status out_of_resources() {
  return absl::ResourceExhaustedError("no memory or randomness for a key or certificate");
}

Result<Builder> Builder::start(const Validity& validity, EVP_PKEY& public_key) {
  Certificate certificate(X509_new());
  if (certificate == nullptr) return out_of_resources();
  X509& made = *certificate;
  if (X509_set_version(&made, X509_VERSION_3) != 1 || !set_serial(made) ||
      X509_set_pubkey(&made, &public_key) != 1) {
    return out_of_resources();
  }
  const bool has_life =
      validity.not_before < validity.not_after &&
      ASN1_TIME_set(X509_getm_notBefore(&made), to_seconds(validity.not_before)) != nullptr &&
      ASN1_TIME_set(X509_getm_notAfter(&made), to_seconds(validity.not_after)) != nullptr;
  if (!has_life) {
    return absl::InvalidArgumentError("a certificate must end after it begins, before year 9999");
  }
  return Builder(std::move(certificate));
}

Status Builder::add_subject(int nid, std::string_view text) {
  const std::string_view cut = text.substr(0, kMaxSubjectBytes);
  const auto* bytes = reinterpret_cast<const unsigned char*>(cut.data());
  X509_NAME* subject = X509_get_subject_name(certificate_.get());
  if (X509_NAME_add_entry_by_NID(subject, nid, MBSTRING_UTF8, bytes, static_cast<int>(cut.size()),
                                 -1, 0) != 1) {
    return out_of_resources();
  }
  return absl::OkStatus();
}

Status Builder::add_extension(int nid, const char* value, X509& issuer) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, &issuer, certificate_.get(), nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_nconf_nid(nullptr, &context, nid, value));
  if (extension == nullptr || X509_add_ext(certificate_.get(), extension.get(), -1) != 1) {
    return out_of_resources();
  }
  return absl::OkStatus();
}

Status Builder::add_alt_names(const GENERAL_NAMES& names) {
  // OpenSSL only reads them, whatever its signature says.
  auto* read = const_cast<GENERAL_NAMES*>(&names);
  if (X509_add1_ext_i2d(certificate_.get(), NID_subject_alt_name, read, 0, 0) != 1) {
    return out_of_resources();
  }
  return absl::OkStatus();
}

Result<std::string> Builder::sign(X509& issuer, EVP_PKEY& issuer_key) {
  const X509_NAME* name = X509_get_subject_name(&issuer);
  if (X509_set_issuer_name(certificate_.get(), name) != 1 ||
      X509_sign(certificate_.get(), &issuer_key, EVP_sha256()) <= 0) {
    return out_of_resources();
  }
  return to_pem(*certificate_);
}

}  // namespace holdfast::identity::ssl

#include "identity/openssl.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>

#include "base/check.h"

namespace holdfast::identity::ssl {
namespace {

using std::string_view;

// OpenSSL would ask on the terminal.
int no_password(char*, int, int, void*) {
  return -1;
}

const unsigned char* unsigned_data(string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

Status not_a_certificate() {
  return absl::InvalidArgumentError("not a certificate in PEM");
}

Result<WallTime> from_asn1(const ASN1_TIME* time) {
  const Asn1Time epoch(ASN1_TIME_set(nullptr, 0));
  int days = 0;
  int seconds = 0;
  if (epoch == nullptr || ASN1_TIME_diff(&days, &seconds, epoch.get(), time) != 1) {
    return absl::InvalidArgumentError("the certificate's time cannot be read");
  }
  return WallTime(std::chrono::hours(24) * days + std::chrono::seconds(seconds));
}

}  // namespace

QuietErrors::QuietErrors() {
  ERR_set_mark();
}

QuietErrors::~QuietErrors() {
  ERR_pop_to_mark();
}

std::string sha256(string_view bytes) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(unsigned_data(bytes), bytes.size(), reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

std::string to_hex(string_view bytes) {
  std::string hex;
  for (const char byte : bytes) {
    fmt::format_to(std::back_inserter(hex), "{:02x}", static_cast<uint8_t>(byte));
  }
  return hex;
}

Bio reader(string_view bytes) {
  const char* data = bytes.empty() ? "" : bytes.data();  // OpenSSL refuses a null pointer
  Bio bio(BIO_new_mem_buf(data, static_cast<int>(bytes.size())));
  HF_CHECK(bio != nullptr, "memory for a reader");
  return bio;
}

std::string written(BIO& bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(&bio, &data);
  return size > 0 ? std::string(data, static_cast<size_t>(size)) : std::string();
}

Result<std::string> next_pem(BIO& bio, std::span<const string_view> types) {
  char* name = nullptr;
  char* header = nullptr;
  unsigned char* data = nullptr;
  long size = 0;
  if (PEM_read_bio(&bio, &name, &header, &data, &size) != 1) {
    const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
    if (at_end) return std::string();
    return absl::InvalidArgumentError("a broken block of PEM");
  }
  const bool wanted = std::ranges::find(types, string_view(name)) != types.end();
  const bool plain = string_view(header).empty();
  std::string decoded(reinterpret_cast<char*>(data), static_cast<size_t>(size));
  OPENSSL_free(name);
  OPENSSL_free(header);
  OPENSSL_free(data);
  if (!wanted || !plain || decoded.empty()) {
    return absl::InvalidArgumentError("a block of PEM of another type, or with headers");
  }
  return decoded;
}

Result<std::string> first_certificate_der(string_view pem) {
  if (pem.size() > kMaxChainBytes) return not_a_certificate();
  const Bio bio = reader(pem);
  TRY(std::string der, next_pem(*bio, kCertificateTypes));
  if (der.empty()) return not_a_certificate();
  return der;
}

Certificate certificate_from_der(string_view der) {
  const unsigned char* at = unsigned_data(der);
  Certificate certificate(d2i_X509(nullptr, &at, static_cast<long>(der.size())));
  if (at != unsigned_data(der) + der.size()) certificate.reset();
  return certificate;
}

Result<Certificate> read_certificate(string_view pem) {
  TRY(const std::string der, first_certificate_der(pem));
  Certificate certificate = certificate_from_der(der);
  if (certificate == nullptr) return not_a_certificate();
  return certificate;
}

Result<std::vector<Certificate>> read_certificates(string_view pem) {
  if (pem.size() > kMaxChainBytes) return not_a_certificate();
  const Bio bio = reader(pem);
  std::vector<Certificate> out;
  for (;;) {
    TRY(const std::string der, next_pem(*bio, kCertificateTypes));
    if (der.empty() && !out.empty()) return out;
    Certificate certificate = certificate_from_der(der);
    if (certificate == nullptr) return not_a_certificate();
    out.push_back(std::move(certificate));
  }
}

Result<Key> read_private_key(const std::string& pem) {
  const Bio bio = reader(pem);
  Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr));
  if (key == nullptr) return absl::InvalidArgumentError("not a private key in PEM");
  return key;
}

std::string to_pem(const X509& certificate) {
  const Bio bio(BIO_new(BIO_s_mem()));
  HF_CHECK(bio != nullptr && PEM_write_bio_X509(bio.get(), &certificate) == 1,
           "memory to write a certificate");
  return written(*bio);
}

std::string pin(const X509& certificate) {
  unsigned char* der = nullptr;
  const int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(&certificate), &der);
  if (size <= 0) return {};
  const std::string digest =
      sha256(string_view(reinterpret_cast<char*>(der), static_cast<size_t>(size)));
  OPENSSL_free(der);
  return "sha256:" + to_hex(digest);
}

Result<Identity> named_identity(const X509& certificate) {
  const AltNames names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr)));
  const ASN1_IA5STRING* uri = nullptr;
  int uris = 0;
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_URI) continue;
    uri = name->d.uniformResourceIdentifier;
    uris += 1;
  }
  if (uris != 1) return absl::InvalidArgumentError("the certificate names no identity");
  return parse_uri(string_view(reinterpret_cast<const char*>(ASN1_STRING_get0_data(uri)),
                               static_cast<size_t>(ASN1_STRING_length(uri))));
}

int64_t to_seconds(WallTime time) {
  return std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count();
}

Result<Validity> validity(const X509& certificate) {
  TRY(const WallTime not_before, from_asn1(X509_get0_notBefore(&certificate)));
  TRY(const WallTime not_after, from_asn1(X509_get0_notAfter(&certificate)));
  return Validity{.not_before = not_before, .not_after = not_after};
}

}  // namespace holdfast::identity::ssl

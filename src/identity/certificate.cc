#include "identity/certificate.h"

#include <arpa/inet.h>
#include <openssl/pem.h>

#include <array>

#include "base/check.h"
#include "identity/builder.h"
#include "identity/openssl.h"
#include "resource/text_rules.h"

namespace holdfast::identity {
namespace {

using ssl::QuietErrors;

Result<ssl::Key> generate() {
  ssl::Key key(EVP_EC_gen("P-256"));
  if (key == nullptr) return ssl::out_of_resources();
  return key;
}

Result<std::string> key_to_pem(EVP_PKEY& key) {
  const ssl::Bio bio(BIO_new(BIO_s_mem()));
  if (bio == nullptr ||
      PEM_write_bio_PKCS8PrivateKey(bio.get(), &key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return ssl::out_of_resources();
  }
  return ssl::written(*bio);
}

Result<std::string> self_signed(const std::string& cluster, const Validity& validity,
                                EVP_PKEY& key) {
  TRY(ssl::Builder builder, ssl::Builder::start(validity, key));
  X509& made = builder.certificate();
  TRY_OK(builder.add_subject(NID_commonName, cluster));
  // Authorities of one cluster differ by name too, so that every TLS library finds the right one.
  TRY_OK(builder.add_subject(NID_serialNumber, ssl::pin(made).substr(7, 16)));
  TRY_OK(builder.add_extension(NID_basic_constraints, "critical,CA:TRUE,pathlen:0", made));
  TRY_OK(builder.add_extension(NID_key_usage, "critical,keyCertSign,cRLSign", made));
  TRY_OK(builder.add_extension(NID_subject_key_identifier, "hash", made));
  TRY_OK(builder.add_extension(NID_authority_key_identifier, "keyid:always", made));
  return builder.sign(made, key);
}

// As text; empty for a name that is no host's.
std::string host_of(const GENERAL_NAME& name) {
  const bool is_ip = name.type == GEN_IPADD;
  if (!is_ip && name.type != GEN_DNS) return "";
  const ASN1_STRING* value = is_ip ? name.d.iPAddress : name.d.dNSName;
  const unsigned char* bytes = ASN1_STRING_get0_data(value);
  const int size = ASN1_STRING_length(value);
  if (!is_ip) return {reinterpret_cast<const char*>(bytes), static_cast<size_t>(size)};
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int family = size == 4 ? AF_INET : AF_INET6;
  const bool known = size == 4 || size == 16;
  return known && inet_ntop(family, bytes, text.data(), text.size()) != nullptr ? text.data() : "";
}

bool every_server_has(std::string_view host) {
  return host.ends_with(".holdfast") || host == "localhost" || host == "127.0.0.1" || host == "::1";
}

}  // namespace

Result<std::string> make_private_key() {
  const QuietErrors quiet;
  TRY(const ssl::Key key, generate());
  return key_to_pem(*key);
}

Result<std::string> make_request(const std::string& private_key_pem) {
  const QuietErrors quiet;
  TRY(const ssl::Key key, ssl::read_private_key(private_key_pem));
  const ssl::Request request(X509_REQ_new());
  // Ed25519 signs the message itself, not a digest of it.
  const EVP_MD* digest = EVP_PKEY_is_a(key.get(), "ED25519") ? nullptr : EVP_sha256();
  const ssl::Bio bio(BIO_new(BIO_s_mem()));
  if (request == nullptr || bio == nullptr ||
      X509_REQ_set_version(request.get(), X509_REQ_VERSION_1) != 1 ||
      X509_REQ_set_pubkey(request.get(), key.get()) != 1 ||
      X509_REQ_sign(request.get(), key.get(), digest) <= 0 ||
      PEM_write_bio_X509_REQ(bio.get(), request.get()) != 1) {
    return ssl::out_of_resources();
  }
  return ssl::written(*bio);
}

Result<SigningKey> make_authority(const std::string& cluster, const Validity& validity) {
  const QuietErrors quiet;
  if (const auto wrong = resource::wrong_name(cluster)) {
    return absl::InvalidArgumentError("the cluster's name " + *wrong);
  }
  TRY(const ssl::Key key, generate());
  SigningKey made;
  TRY(made.certificate_pem, self_signed(cluster, validity, *key));
  TRY(made.private_key_pem, key_to_pem(*key));
  return made;
}

Result<std::string> pin_of(const std::string& pem) {
  const QuietErrors quiet;
  TRY(const ssl::Certificate certificate, ssl::read_certificate(pem));
  std::string pin = ssl::pin(*certificate);
  if (pin.empty()) return absl::InvalidArgumentError("the certificate has no key");
  return pin;
}

Result<Validity> validity_of(const std::string& pem) {
  const QuietErrors quiet;
  TRY(const ssl::Certificate certificate, ssl::read_certificate(pem));
  return ssl::validity(*certificate);
}

Status check_key(const std::string& pem, const std::string& private_key_pem) {
  const QuietErrors quiet;
  TRY(const ssl::Certificate certificate, ssl::read_certificate(pem));
  TRY(const ssl::Key key, ssl::read_private_key(private_key_pem));
  if (X509_check_private_key(certificate.get(), key.get()) == 1) return absl::OkStatus();
  return absl::InvalidArgumentError("the certificate is for another key");
}

Result<Identity> identity_of(const std::string& pem) {
  const QuietErrors quiet;
  TRY(const ssl::Certificate certificate, ssl::read_certificate(pem));
  return ssl::named_identity(*certificate);
}

Result<std::vector<std::string>> hosts_of(const std::string& pem) {
  const QuietErrors quiet;
  TRY(const ssl::Certificate certificate, ssl::read_certificate(pem));
  const ssl::AltNames names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate.get(), NID_subject_alt_name, nullptr, nullptr)));
  std::vector<std::string> hosts;
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    std::string host = host_of(*sk_GENERAL_NAME_value(names.get(), i));
    if (!host.empty() && !every_server_has(host)) hosts.push_back(std::move(host));
  }
  return hosts;
}

Result<std::vector<std::string>> split_chain(const std::string& pem) {
  const QuietErrors quiet;
  TRY(const std::vector<ssl::Certificate> chain, ssl::read_certificates(pem));
  std::vector<std::string> out;
  for (const ssl::Certificate& certificate : chain) out.push_back(ssl::to_pem(*certificate));
  return out;
}

}  // namespace holdfast::identity

#include "support/test_certificate.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>

#include "base/check.h"

namespace holdfast::test {
namespace {

constexpr long kHourSeconds = 3'600;

std::string text_of(BIO* bio) {
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio, &text);
  std::string out(text, static_cast<size_t>(size));
  BIO_free(bio);
  return out;
}

void name_hosts(X509* certificate) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* hosts =
      X509V3_EXT_conf_nid(nullptr, &context, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
  HF_CHECK(hosts != nullptr && X509_add_ext(certificate, hosts, -1) == 1, "hosts are named");
  X509_EXTENSION_free(hosts);
}

}  // namespace

TestCertificate make_test_certificate(const std::string& common_name, std::chrono::minutes left) {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  HF_CHECK(key != nullptr && certificate != nullptr, "OpenSSL has memory");
  X509_set_version(certificate, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -kHourSeconds);
  X509_gmtime_adj(X509_getm_notAfter(certificate), std::chrono::seconds(left).count());
  X509_set_pubkey(certificate, key);
  X509_NAME* name = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1,
                             0);
  X509_set_issuer_name(certificate, name);
  name_hosts(certificate);
  HF_CHECK(X509_sign(certificate, key, EVP_sha256()) != 0, "the key signs");

  BIO* certificate_out = BIO_new(BIO_s_mem());
  BIO* key_out = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(certificate_out, certificate);
  PEM_write_bio_PrivateKey(key_out, key, nullptr, nullptr, 0, nullptr, nullptr);
  X509_free(certificate);
  EVP_PKEY_free(key);
  return {.certificate_pem = text_of(certificate_out), .private_key_pem = text_of(key_out)};
}

}  // namespace holdfast::test

// OpenSSL's objects with owners, and the few conversions that the module's files share. Private to
// identity: nobody else sees OpenSSL.
#pragma once

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "identity/certificate.h"
#include "identity/identity.h"

namespace holdfast::identity::ssl {

template <auto Free>
struct Freed {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
template <typename T, auto Free>
using Owned = std::unique_ptr<T, Freed<Free>>;

using Bio = Owned<BIO, BIO_free_all>;
using BigNumber = Owned<BIGNUM, BN_free>;
using Key = Owned<EVP_PKEY, EVP_PKEY_free>;
using Certificate = Owned<X509, X509_free>;
using Request = Owned<X509_REQ, X509_REQ_free>;
using Extension = Owned<X509_EXTENSION, X509_EXTENSION_free>;
using AltNames = Owned<GENERAL_NAMES, GENERAL_NAMES_free>;
using AltName = Owned<GENERAL_NAME, GENERAL_NAME_free>;
using Store = Owned<X509_STORE, X509_STORE_free>;
using StoreContext = Owned<X509_STORE_CTX, X509_STORE_CTX_free>;
using Asn1Time = Owned<ASN1_TIME, ASN1_TIME_free>;

// Leaves the thread's queue of errors as it was: what stays there would be taken for a failure of
// someone's connection.
class QuietErrors {
 public:
  QuietErrors();
  ~QuietErrors();
  QuietErrors(const QuietErrors&) = delete;
  QuietErrors& operator=(const QuietErrors&) = delete;
};

// Of any text of certificates that is read.
inline constexpr size_t kMaxChainBytes = size_t{64} * 1024;
inline constexpr std::string_view kCertificateTypes[] = {"CERTIFICATE"};

std::string sha256(std::string_view bytes);  // 32 bytes
std::string to_hex(std::string_view bytes);  // in lower case

// Memory to read from. Requires: `bytes` outlives it.
Bio reader(std::string_view bytes);
// All that was written.
std::string written(BIO& bio);

// The next block of this type, decoded; empty at the end of the text. kInvalidArgument for a block
// of another type, with headers (encrypted), or broken.
Result<std::string> next_pem(BIO& bio, std::span<const std::string_view> types);
// The DER of the first certificate in the text.
Result<std::string> first_certificate_der(std::string_view pem);
// Null unless all of `der` is one certificate.
Certificate certificate_from_der(std::string_view der);
// The first certificate in the text.
Result<Certificate> read_certificate(std::string_view pem);
// All of them, and nothing but them. kInvalidArgument if there is none.
Result<std::vector<Certificate>> read_certificates(std::string_view pem);
Result<Key> read_private_key(const std::string& pem);
std::string to_pem(const X509& certificate);

// "sha256:HEX" of its public key; empty if it has none that can be written.
std::string pin(const X509& certificate);
// Whom its only URI names. kInvalidArgument if there is none, more than one, or another.
Result<Identity> named_identity(const X509& certificate);

// Whole seconds: what a certificate keeps.
int64_t to_seconds(WallTime time);
Result<Validity> validity(const X509& certificate);

}  // namespace holdfast::identity::ssl

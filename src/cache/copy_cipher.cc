#include "cache/copy_cipher.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>

#include <algorithm>
#include <memory>
#include <string>

#include "base/check.h"

namespace holdfast::cache {
namespace {

constexpr std::string_view kPurpose = "holdfast cache copy";
constexpr size_t kStepBytes = size_t{1} << 20;  // OpenSSL counts in int

template <auto Free>
struct Freed {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Kdf = std::unique_ptr<EVP_KDF, Freed<EVP_KDF_free>>;
using KdfContext = std::unique_ptr<EVP_KDF_CTX, Freed<EVP_KDF_CTX_free>>;
using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, Freed<EVP_CIPHER_CTX_free>>;

// Wiped when it goes.
struct Key {
  std::array<uint8_t, 32> bytes{};
  ~Key() { OPENSSL_cleanse(bytes.data(), bytes.size()); }
};

void must(int result) {
  HF_CHECK(result == 1, "OpenSSL has AES-256-GCM and HKDF-SHA256");
}

void derive(const CopySecret& secret, Key& key) {
  const Kdf kdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr));
  const KdfContext context(EVP_KDF_CTX_new(kdf.get()));
  HF_CHECK(context != nullptr, "OpenSSL has HKDF");
  std::string digest = "SHA256";
  std::string purpose(kPurpose);
  CopySecret input = secret;
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest.data(), digest.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, input.data(), input.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, purpose.data(), purpose.size()),
      OSSL_PARAM_construct_end()};
  must(EVP_KDF_derive(context.get(), key.bytes.data(), key.bytes.size(), parameters));
  OPENSSL_cleanse(input.data(), input.size());
}

enum class Direction : int { Open = 0, Seal = 1 };

CipherContext begin(Direction direction, const CopySecret& secret, const CopyNonce& nonce,
                    std::string_view context) {
  Key key;
  derive(secret, key);
  CipherContext cipher(EVP_CIPHER_CTX_new());
  HF_CHECK(cipher != nullptr, "there is memory for a cipher");
  must(EVP_CipherInit_ex2(cipher.get(), EVP_aes_256_gcm(), key.bytes.data(), nonce.data(),
                          static_cast<int>(direction), nullptr));
  int written = 0;
  must(EVP_CipherUpdate(cipher.get(), nullptr, &written,
                        reinterpret_cast<const uint8_t*>(context.data()),
                        static_cast<int>(context.size())));
  return cipher;
}

void transform(EVP_CIPHER_CTX* cipher, std::span<uint8_t> body) {
  while (!body.empty()) {
    const size_t step = std::min(body.size(), kStepBytes);
    int written = 0;
    must(EVP_CipherUpdate(cipher, body.data(), &written, body.data(), static_cast<int>(step)));
    HF_CHECK(static_cast<size_t>(written) == step, "GCM keeps the length");
    body = body.subspan(step);
  }
}

}  // namespace

void seal_in_place(const CopySecret& secret, const CopyNonce& nonce, std::string_view context,
                   std::span<uint8_t> body, std::span<uint8_t, kCopyTagBytes> tag) {
  const CipherContext cipher = begin(Direction::Seal, secret, nonce, context);
  transform(cipher.get(), body);
  uint8_t none = 0;
  int written = 0;
  must(EVP_CipherFinal_ex(cipher.get(), &none, &written));
  must(EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_AEAD_GET_TAG, kCopyTagBytes, tag.data()));
}

bool open_in_place(const CopySecret& secret, const CopyNonce& nonce, std::string_view context,
                   std::span<uint8_t> body, std::span<const uint8_t, kCopyTagBytes> tag) {
  const CipherContext cipher = begin(Direction::Open, secret, nonce, context);
  transform(cipher.get(), body);
  std::array<uint8_t, kCopyTagBytes> expected{};
  std::ranges::copy(tag, expected.begin());
  must(EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_AEAD_SET_TAG, kCopyTagBytes, expected.data()));
  uint8_t none = 0;
  int written = 0;
  const bool whole = EVP_CipherFinal_ex(cipher.get(), &none, &written) == 1;
  // What stays in the thread's queue would be taken for a failure of someone's connection.
  if (!whole) ERR_clear_error();
  return whole;
}

}  // namespace holdfast::cache

// AES-256-GCM under a key derived from a node's secret: the one place of cache/ that knows OpenSSL.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "cache/sealed_copy.h"

namespace holdfast::cache {

inline constexpr size_t kCopyTagBytes = 16;

// Seals `body` in its place and writes the tag. `context` is authenticated with it.
void seal_in_place(const CopySecret& secret, const CopyNonce& nonce, std::string_view context,
                   std::span<uint8_t> body, std::span<uint8_t, kCopyTagBytes> tag);

// Opens `body` in its place; false, and the body is rubbish, if anything is not as it was sealed.
bool open_in_place(const CopySecret& secret, const CopyNonce& nonce, std::string_view context,
                   std::span<uint8_t> body, std::span<const uint8_t, kCopyTagBytes> tag);

}  // namespace holdfast::cache

// The bytes of a cache's copy on disk: what it is, in the clear, and the resources, sealed. Pure:
// secret, nonce and times come in, bytes go out.
//
//   "HFCOPY\r\n" │ format │ header size │ CacheCopyHeader │ nonce │ body size │ body │ tag
//   └───────────────── authenticated, readable by all ──────────────────────┘ └ AES-256-GCM
//
// Numbers are little-endian: format and header size have 4 bytes, body size has 8. The body is,
// kind by kind, each resource with its size (a varint) before it. The key is HKDF-SHA256 of the
// node's secret. What was changed, cut, or sealed by another node or version is refused as a whole.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "holdfast/v1/resource.pb.h"
#include "resource/kind.h"

namespace holdfast::cache {

using CopySecret = std::array<uint8_t, 32>;
using CopyNonce = std::array<uint8_t, 12>;  // random, never used twice with one secret

// Whose copy it is. A copy opens only for the one that sealed it.
struct CopyOwner {
  std::string schema;  // version of the software
  std::string cluster;
  std::string node;
};

struct CopyLimits {
  size_t max_bytes = size_t{1} << 30;  // of the whole copy
  size_t max_header_bytes = 64 << 10;
};

struct KindToSeal {
  resource::Kind kind{};
  bool with_secrets = false;
  uint64_t generation = 0;
  int64_t revision = 0;
  int64_t newest = 0;
  WallTime as_of{};
  std::vector<const v1::Resource*> items;  // alive until the copy is sealed
};

struct OpenedKind {
  resource::Kind kind{};
  bool with_secrets = false;
  uint64_t generation = 0;
  int64_t revision = 0;
  int64_t newest = 0;
  WallTime as_of{};
  std::vector<std::shared_ptr<const v1::Resource>> items;
};

struct OpenedCopy {
  WallTime saved{};
  std::vector<OpenedKind> kinds;  // those this version knows
  uint64_t skipped = 0;           // resources of kinds it does not know
};

struct ToSeal {
  CopyOwner owner;
  WallTime saved{};
  std::vector<KindToSeal> kinds;
};

// Makes the bytes once: nothing but them and a few words is allocated. kResourceExhausted if they
// would pass the limit.
Result<std::string> seal_copy(const ToSeal& copy, const CopySecret& secret, const CopyNonce& nonce,
                              const CopyLimits& limits);

// Takes the bytes, since the body is opened in their place.
//   kFailedPrecondition: of another format, version, cluster or node
//   kDataLoss: no copy, changed, cut short, or sealed with another secret
//   kResourceExhausted: larger than the limits
Result<OpenedCopy> open_copy(std::string sealed, const CopyOwner& owner, const CopySecret& secret,
                             const CopyLimits& limits);

}  // namespace holdfast::cache

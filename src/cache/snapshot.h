// All kinds of a cache as readers see them at one moment, and the guard through which they read.
//
//   cache::View view(cache.published());            // one per thread
//   if (auto agents = view.read<Kind::Agent>()) {   // false: not cached, ask CacheService
//     if (const auto* agent = agents.find("edge-7")) use(agent->body.zone());
//   }
//
// A guard for one kind offers nothing of another: that is a matter of types.
#pragma once

#include <array>
#include <cstdint>

#include "base/clock.h"
#include "cache/published.h"
#include "cache/table.h"
#include "resource/kind.h"

namespace holdfast::cache {

// Where reads of a kind are answered.
enum class Source : uint8_t {
  Upstream,  // not cached, or older than its bound
  Cache,
  Stale,  // the cache, though its stream is down or it came from disk
};

struct KindView {
  Source source = Source::Upstream;
  uint64_t generation = 0;
  int64_t revision = 0;  // of the newest change applied
  WallTime as_of{};      // when it was last known to be whole
  Table items;           // kept while Upstream too: the last good generation
};

struct Snapshot {
  std::array<KindView, resource::kKindCount> kinds;
  const KindView& of(resource::Kind kind) const { return kinds[static_cast<size_t>(kind)]; }
};

// body_type<Kind::Agent> is v1::Agent, body<Kind::Agent>(resource) is resource.agent().
// (one row per kind, checked against the registry by a test)

}  // namespace holdfast::cache

// All kinds of a cache as readers see them at one moment, and the guard through which they read.
//
//   cache::View view(cache.published());            // one per thread
//   if (auto agents = view.read<Kind::Agent>()) {   // false: nobody knows; ask CacheService
//     if (auto agent = agents.find("edge-7")) use(agent->body.zone());
//   }
//
// A guard for one kind offers nothing of another: that is a matter of types.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/clock.h"
#include "cache/coverage.h"
#include "cache/published.h"
#include "cache/table.h"
#include "holdfast/v1/resource.pb.h"
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
  int64_t revision = 0;       // of the newest change applied
  WallTime as_of{};           // when it was last known to be whole
  Table items;                // kept while Upstream too: the last good generation
  bool fails_static = false;  // while Upstream, the table may be read though it is old
  // Set while some names are shown at later revisions than `revision`. Writer's thread only.
  std::shared_ptr<const Coverage> ahead;
};

// Names after `after` are shown as they were at `revision`, up to and with `up_to`; empty: all that
// follow. What a listing of the table must say for each of its pages, and end a page at, so that a
// cache that loads from this one never goes back in time. Writer's thread only.
struct Told {
  int64_t revision = 0;
  std::string up_to;
};
inline Told told_after(const KindView& view, std::string_view after) {
  if (view.ahead == nullptr) return {.revision = view.revision, .up_to = {}};
  const Coverage::Range range = view.ahead->range_after(after);
  return {.revision = std::max(view.revision, range.revision), .up_to = range.up_to};
}

struct Snapshot {
  std::array<KindView, resource::kKindCount> kinds;

  const KindView& of(resource::Kind kind) const { return kinds[static_cast<size_t>(kind)]; }
  KindView& of(resource::Kind kind) { return kinds[static_cast<size_t>(kind)]; }
  // As Table::dismantle(), for all kinds.
  bool dismantle(size_t& budget) {
    return std::ranges::all_of(kinds, [&](KindView& kind) { return kind.items.dismantle(budget); });
  }
};

// The message of a kind's body and where a resource has it.
template <typename Message, const Message& (v1::Resource::*Get)() const,
          v1::Resource::BodyCase Case>
struct BodyRow {
  using Body = Message;
  static constexpr v1::Resource::BodyCase kCase = Case;
  static const Body& of(const v1::Resource& resource) { return (resource.*Get)(); }
};

// One row per kind; a test compares them with the registry.
template <resource::Kind K>
struct BodyOf;
// clang-format off
template <> struct BodyOf<resource::Kind::Controller>
    : BodyRow<v1::Controller, &v1::Resource::controller, v1::Resource::kController> {};
template <> struct BodyOf<resource::Kind::Proxy>
    : BodyRow<v1::Proxy, &v1::Resource::proxy, v1::Resource::kProxy> {};
template <> struct BodyOf<resource::Kind::Agent>
    : BodyRow<v1::Agent, &v1::Resource::agent, v1::Resource::kAgent> {};
template <> struct BodyOf<resource::Kind::Service>
    : BodyRow<v1::Service, &v1::Resource::service, v1::Resource::kService> {};
template <> struct BodyOf<resource::Kind::Token>
    : BodyRow<v1::Token, &v1::Resource::token, v1::Resource::kToken> {};
template <> struct BodyOf<resource::Kind::Role>
    : BodyRow<v1::Role, &v1::Resource::role, v1::Resource::kRole> {};
template <> struct BodyOf<resource::Kind::User>
    : BodyRow<v1::User, &v1::Resource::user, v1::Resource::kUser> {};
template <> struct BodyOf<resource::Kind::NetworkingConfig>
    : BodyRow<v1::NetworkingConfig, &v1::Resource::networking_config,
              v1::Resource::kNetworkingConfig> {};
template <> struct BodyOf<resource::Kind::ZoneMap>
    : BodyRow<v1::ZoneMap, &v1::Resource::zone_map, v1::Resource::kZoneMap> {};
template <> struct BodyOf<resource::Kind::CapacityLease>
    : BodyRow<v1::CapacityLease, &v1::Resource::capacity_lease, v1::Resource::kCapacityLease> {};
template <> struct BodyOf<resource::Kind::CertAuthority>
    : BodyRow<v1::CertAuthority, &v1::Resource::cert_authority, v1::Resource::kCertAuthority> {};
// clang-format on

// One resource of a kind. Valid as long as the guard it came from.
template <resource::Kind K>
struct Entry {
  const v1::Metadata& metadata;
  const typename BodyOf<K>::Body& body;
};

// One kind as it was when the guard was made; nothing changes under it. Short-lived: while it is
// there, the generation it shows cannot be freed.
template <resource::Kind K>
class KindGuard {
 public:
  explicit KindGuard(Published<Snapshot>::Reader& reader) : snapshot_(reader.read()) {}

  // Whether there is a table to read, however old: who carries traffic goes on with what was known
  // last. If not, nothing but source() and its neighbours may be asked.
  explicit operator bool() const { return source() != Source::Upstream || view().fails_static; }

  Source source() const { return view().source; }
  uint64_t generation() const { return view().generation; }
  int64_t revision() const { return view().revision; }
  WallTime as_of() const { return view().as_of; }

  // Requires: there is a table.
  size_t size() const { return items().size(); }
  std::optional<Entry<K>> find(std::string_view name) const {
    const Table::Parts found = items().find_parts(name);
    if (found.resource == nullptr) return std::nullopt;
    // Something else in a table of this kind, which nobody should put there, has an empty body.
    if (found.body_case != BodyOf<K>::kCase) [[unlikely]]
      return entry(*found.resource);
    using Body = typename BodyOf<K>::Body;
    return Entry<K>{.metadata = *found.metadata, .body = static_cast<const Body&>(*found.body)};
  }
  // Stops when `visit` returns false.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    items().for_each([&](const Shared& resource) { return visit(entry(*resource)); });
  }

 private:
  static Entry<K> entry(const v1::Resource& resource) {
    return {.metadata = resource.metadata(), .body = BodyOf<K>::of(resource)};
  }
  const KindView& view() const { return snapshot_->of(K); }
  const Table& items() const {
    HF_CHECK(*this, "a kind that is not cached is read through CacheService");
    return view().items;
  }

  Published<Snapshot>::Guard snapshot_;
};

// One thread's way to read. One guard at a time; a thread that needs two has two views.
class View {
 public:
  explicit View(Published<Snapshot>& published) : reader_(published) {}

  template <resource::Kind K>
  KindGuard<K> read() {
    return KindGuard<K>(reader_);
  }

 private:
  Published<Snapshot>::Reader reader_;
};

}  // namespace holdfast::cache

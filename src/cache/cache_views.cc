// What others see of a cache: where each kind is read and why, the published snapshot, and the
// watchers that derive from it.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/reason.h"
#include "cache/cache.h"
#include "cache/published.h"
#include "resource/proto_time.h"
#include "resource/registry.h"

namespace holdfast::cache {
namespace {

constexpr Duration kReclaimLater = std::chrono::milliseconds(100);

std::string_view source_name(Source source) {
  switch (source) {
    case Source::Cache:
      return "cache";
    case Source::Stale:
      return "stale";
    case Source::Upstream:
      return "upstream";
  }
  return "upstream";
}

}  // namespace

events::WatchKind watch_kind(const KindPolicy& policy) {
  return {.kind = std::string(resource::info(policy.kind).name),
          .name = {},
          .labels = {},
          .with_secrets = policy.with_secrets};
}

Actions Cache::restored(std::vector<KindCopy> copies, Moment now) {
  HF_CHECK(phase_ == Phase::Stopped && generation_ == 0, "a copy from disk is for the start");
  for (KindCopy& copy : copies) {
    KindState* kind = find(resource::info(copy.kind).name);
    if (kind == nullptr || kind->policy.with_secrets != copy.with_secrets) continue;
    if (copy.items.size() > options_.max_items) continue;
    KindView& seen = view(*kind);
    seen.items = std::move(copy.items);
    seen.revision = copy.revision;
    seen.as_of = copy.as_of;
    kind->newest_page = copy.newest;
    kind->stale_at = now.time + kind->policy.max_staleness;
    set_source(*kind, Source::Stale,
               {"HF1205", fmt::format("it is from disk, of {}", to_rfc3339(copy.as_of))}, now);
  }
  return finish(now);
}

void Cache::set_source(KindState& kind, Source source, Explanation why, Moment now) {
  if (source == Source::Cache) kind.stale_at.reset();
  if (kind.source == source && kind.why == why) return;
  if (kind.source != source) kind.since = now.wall;
  kind.source = source;
  kind.why = std::move(why);
  view(kind).source = source;
  view(kind).fails_static = kind.policy.fail_static && view(kind).as_of != WallTime{};
  unpublished_ = true;
  changed_ = true;
}

// The server no longer offers it, so nobody would keep the table true.
void Cache::drop(KindState& kind, Moment now) {
  kind.stop_loading();
  kind.resumable = false;
  kind.stale_at.reset();
  kind.newest_page = 0;
  const bool had_table = view(kind).as_of != WallTime{};
  view(kind) = {};
  unsaved_ |= had_table;
  unpublished_ |= had_table;
  set_source(kind, Source::Upstream, {"HF1202", "the server does not offer this kind"}, now);
}

// Derived caches must learn that what they follow is older than its bound.
void Cache::expire(Moment now) {
  bool derived = false;
  for (KindState& kind : kinds_) {
    if (!kind.stale_at || *kind.stale_at > now.time) continue;
    kind.stale_at.reset();
    if (kind.source != Source::Stale) continue;
    derived |= kind.fanned;
    const std::string bound = to_short_string(kind.policy.max_staleness);
    set_source(kind, Source::Upstream, {"HF1204", "it is stale for longer than " + bound}, now);
  }
  if (!derived) return;
  publish(now);
  reset_fan_out(coded(absl::StatusCode::kUnavailable, "HF1204",
                      "the cache is older than its bound; its own stream is down"));
}

// Watchers may rely on the live kinds, and go on undisturbed as long as these are the same. True if
// they were told to begin again.
bool Cache::settle_fan_out(Moment now) {
  const bool same =
      std::ranges::all_of(kinds_, [](const KindState& kind) { return kind.fanned == kind.live(); });
  if (same) return false;
  publish(now);
  if (fan_out_.initialised()) {
    reset_fan_out(absl::AbortedError("the cache begins anew; watch again"));
  }
  std::vector<events::WatchKind> live;
  for (KindState& kind : kinds_) {
    kind.fanned = kind.live();
    if (kind.fanned) live.push_back(watch_kind(kind.policy));
  }
  if (!live.empty()) wake(fan_out_.init(std::move(live), newest_, newest_));
  return true;
}

void Cache::reset_fan_out(const Status& why) {
  for (KindState& kind : kinds_) kind.fanned = false;
  stats_.resets += 1;
  wake(fan_out_.reset(why));
}

void Cache::wake(std::vector<events::WatcherId> watchers) {
  woken_.insert(woken_.end(), watchers.begin(), watchers.end());
}

void Cache::publish(Moment now) {
  if (!unpublished_) return;
  unpublished_ = false;
  for (const KindState& kind : kinds_) {
    if (!kind.live()) continue;
    KindView& seen = view(kind);
    seen.revision = newest_;
    seen.as_of = now.wall;
    if (seen.ahead && seen.ahead->newest() <= newest_) seen.ahead.reset();
  }
  stats_.publishes += 1;
  published_.publish(std::make_unique<Snapshot>(next_));
}

// A large table is freed a slice at a time, between other work.
void Cache::reclaim(Moment now) {
  const auto left = published_.reclaim(kReclaimedAtOnce);
  reclaim_at_.reset();
  if (left.unread > 0) {
    reclaim_at_ = now.time + kReclaimSoon;
  } else if (left.read > 0) {
    reclaim_at_ = now.time + kReclaimLater;
  }
}

Actions Cache::finish(Moment now) {
  publish(now);
  reclaim(now);
  if (!woken_.empty()) actions_.emplace_back(Wake{std::exchange(woken_, {})});
  if (std::exchange(changed_, false)) actions_.emplace_back(Changed{});
  if (unsaved_ && (!saved_ || now.time >= *saved_ + options_.save_every)) {
    unsaved_ = false;
    saved_ = now.time;
    actions_.emplace_back(Save{});
  }
  return std::exchange(actions_, {});
}

const KindPolicy* Cache::policy(resource::Kind kind) const {
  const auto found = std::ranges::find(options_.kinds, kind, &KindPolicy::kind);
  return found == options_.kinds.end() ? nullptr : &*found;
}

KindState* Cache::find(std::string_view kind_name) {
  const std::optional<resource::Kind> wanted = resource::kind_named(kind_name);
  if (!wanted) return nullptr;
  const auto found = std::ranges::find_if(
      kinds_, [&](const KindState& kind) { return kind.policy.kind == *wanted; });
  return found == kinds_.end() ? nullptr : &*found;
}

std::vector<v1::CachedKind> Cache::describe() const {
  std::vector<v1::CachedKind> rows;
  for (const KindState& kind : kinds_) {
    const KindView& view = current().of(kind.policy.kind);
    v1::CachedKind& row = rows.emplace_back();
    row.set_kind(std::string(resource::info(kind.policy.kind).name));
    row.set_source(std::string(source_name(kind.source)));
    row.set_generation(view.generation);
    *row.mutable_since() = resource::to_proto(kind.since);
    row.set_code(kind.why.code);
    row.set_reason(kind.why.reason);
    row.set_items(view.items.size());
    row.set_revision(view.revision);
  }
  return rows;
}

std::vector<KindCopy> Cache::copies() const {
  std::vector<KindCopy> copies;
  for (const KindState& kind : kinds_) {
    const KindView& view = current().of(kind.policy.kind);
    if (view.as_of == WallTime{}) continue;
    copies.push_back({.kind = kind.policy.kind,
                      .with_secrets = kind.policy.with_secrets,
                      .revision = view.revision,
                      .newest = std::max(view.revision, kind.newest_page),
                      .as_of = view.as_of,
                      .items = view.items});
  }
  return copies;
}

}  // namespace holdfast::cache

// What a cache does with events: tables first, then the watchers.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cache/cache.h"
#include "resource/field_path.h"
#include "resource/registry.h"

namespace holdfast::cache {
namespace {

bool is_change(const v1::Event& event) {
  return event.type() == v1::EVENT_TYPE_PUT || event.type() == v1::EVENT_TYPE_DELETE;
}

Change to_change(v1::Event& event) {
  Change change{
      .name = event.resource().metadata().name(), .revision = event.revision(), .put = {}};
  if (event.type() != v1::EVENT_TYPE_PUT) return change;
  event.mutable_resource()->mutable_metadata()->set_revision(event.revision());
  change.put = std::make_shared<const v1::Resource>(std::move(*event.mutable_resource()));
  return change;
}

events::Event to_event(const KindPolicy& policy, const Change& change) {
  const resource::KindInfo& info = resource::info(policy.kind);
  if (change.put == nullptr) {
    return events::make_delete(std::string(info.name), change.name, change.revision);
  }
  if (!policy.with_secrets || info.secret_paths.empty()) {
    return events::make_put(*change.put, nullptr, change.revision);
  }
  const v1::Resource visible = resource::without_secrets(*change.put);
  return events::make_put(*change.put, &visible, change.revision);
}

}  // namespace

Status Cache::on_events(v1::WatchResponse& message, int from, Moment now) {
  TRY(const int64_t last, check_order(message, from));
  const bool began_unknown = newest_ == 0;  // an old server's Init carries no revision
  newest_ = last;
  unpublished_ = true;  // every table is now whole up to here, whatever the events are of
  std::vector<events::Event> seen;
  for (int i = from; i < message.events_size(); ++i)
    on_event(*message.mutable_events(i), seen, now);
  const bool begun = swap_in(now);
  fetch_more();
  publish(now);
  if (begun || !fan_out_.initialised()) return absl::OkStatus();
  if (!seen.empty()) wake(fan_out_.append(std::move(seen), now.time));
  fan_out_.note_latest(newest_);
  if (began_unknown) fan_out_.forget_up_to(newest_);
  return absl::OkStatus();
}

// The revision of the last event. Watchers are promised order and whole revisions, and a stream
// that breaks that promise to us would make us break it to them.
Result<int64_t> Cache::check_order(const v1::WatchResponse& message, int from) const {
  int64_t last = newest_;
  for (int i = from; i < message.events_size(); ++i) {
    const v1::Event& event = message.events(i);
    if (event.type() == v1::EVENT_TYPE_INIT) {
      return absl::FailedPreconditionError("the stream sent Init twice");
    }
    if (!is_change(event)) continue;
    if (event.revision() < last || event.revision() == newest_) {
      return absl::FailedPreconditionError(
          fmt::format("the stream sent revision {} after {}", event.revision(), last));
    }
    last = event.revision();
  }
  return last;
}

void Cache::on_event(v1::Event& event, std::vector<events::Event>& seen, Moment now) {
  KindState* kind = find(event.resource().kind());
  const bool wanted = kind != nullptr && (kind->live() || kind->load);
  if (!wanted || !is_change(event) || event.resource().metadata().name().empty()) {
    stats_.events_ignored += 1;
    return;
  }
  Change change = to_change(event);
  if (kind->live()) return apply(*kind, change, seen, now);
  if (kind->load->hold(std::move(change))) return;
  stats_.fetches_restarted += 1;
  kind->restarts += 1;
  if (kind->restarts <= options_.max_restarts) return load(*kind, kind->together, now);
  fetch_failed(*kind,
               absl::ResourceExhaustedError(fmt::format(
                   "more than {} changes came while it was fetched", options_.max_held_events)),
               now);
}

// Watchers see every change, also one that a page has shown already: they were told a revision to
// begin at that is older than the page.
void Cache::apply(KindState& kind, const Change& change, std::vector<events::Event>& seen,
                  Moment now) {
  KindView& known = view(kind);
  Table& table = known.items;
  if (change.put && table.size() >= options_.max_items && table.find(change.name) == nullptr) {
    return fetch_failed(kind,
                        absl::ResourceExhaustedError(
                            fmt::format("more than {} resources of one kind", options_.max_items)),
                        now);
  }
  const bool applied = apply_change(table, known.ahead.get(), change);
  (applied ? stats_.events_applied : stats_.events_skipped) += 1;
  unsaved_ |= applied;
  if (kind.fanned) seen.push_back(to_event(kind.policy, change));
}

}  // namespace holdfast::cache

#include "api/feed_service.h"

#include "api/resource_service.h"
#include "base/log.h"
#include "net/task_group.h"
#include "resource/field_path.h"
#include "resource/registry.h"

namespace holdfast::api {

std::vector<events::WatchKind> every_kind() {
  std::vector<events::WatchKind> kinds;
  for (const resource::KindInfo& info : resource::all_kinds()) {
    kinds.push_back({.kind = std::string(info.name), .with_secrets = true});
  }
  return kinds;
}

Result<std::optional<events::Event>> to_event(const store::Change& change) {
  const std::optional<resource::StoreKey> key = resource::parse_store_key(change.item.key);
  if (!key) return std::optional<events::Event>();
  const resource::KindInfo& info = resource::info(key->kind);
  if (change.type == store::Change::Type::Delete) {
    return events::make_delete(std::string(info.name), key->name, change.item.revision);
  }
  TRY(const v1::Resource resource, decode_item(change.item));
  if (info.secret_paths.empty()) {
    return events::make_put(resource, nullptr, change.item.revision);
  }
  const v1::Resource visible = resource::without_secrets(resource);
  return events::make_put(resource, &visible, change.item.revision);
}

asio::awaitable<void> FeedService::run() {
  Backoff backoff({.first = std::chrono::milliseconds(100), .cap = std::chrono::seconds(5)}, 1);
  while (!stopped_) {
    const bool ready = !options_.until_ready || co_await options_.until_ready();
    if (!ready || stopped_) break;
    const Status status = co_await follow();
    if (fan_out_.initialised()) {
      backoff.reset();
      wake_(fan_out_.reset(absl::UnavailableError("the event source starts again; resume")));
    }
    if (stopped_) break;
    log::warn("event feed lost its place, starting again", {{"why", status.ToString()}});
    const bool slept = co_await net::pause(backoff.next());
    if (!slept) break;
  }
}

asio::awaitable<Status> FeedService::follow() {
  CO_TRY(const store::RangeResult now, co_await store_.range({store::prefix_range("/"), 1}));
  CO_TRY(Opened opened, co_await open(now.revision));
  watch_ = std::move(opened.watch);
  wake_(fan_out_.init(every_kind(), opened.after, now.revision));
  while (!stopped_) {
    const Result<std::vector<store::Change>> read = co_await watch_->next();
    // The store may forget the oldest faster than we get to read it.
    const bool overtaken = absl::IsOutOfRange(read.status()) && opened.after < now.revision;
    from_latest_ = overtaken && watch_->reached() == opened.after;
    CO_TRY_OK(read.status());
    const std::vector<store::Change>& changes = *read;
    std::vector<events::Event> batch;
    for (const store::Change& change : changes) {
      Result<std::optional<events::Event>> event = to_event(change);
      if (!event.ok()) {
        log::error("a stored value is not a resource; watchers do not see it",
                   {{"key", change.item.key}, {"why", event.status().ToString()}});
      } else if (*event) {
        batch.push_back(**std::move(event));
      }
    }
    wake_(fan_out_.append(std::move(batch), clock_.now()));
    note_reached();
  }
  co_return absl::CancelledError("stopped");
}

// As much of the past as the store still has and the fan-out keeps, so that watchers of an earlier
// run, or of the other half of a pair, can resume. A store does not say how far back it goes: one
// that took a copy begins with that, so the place is searched for.
asio::awaitable<Result<FeedService::Opened>> FeedService::open(store::Revision latest) {
  Opened oldest;
  store::Revision lost = -1;
  store::Revision next = std::max<store::Revision>(0, latest - options_.resumable_revisions);
  if (from_latest_) next = latest;
  while (!stopped_ && (oldest.watch == nullptr || lost + 1 < oldest.after)) {
    Result<std::unique_ptr<store::Watch>> opened =
        co_await store_.watch(store::prefix_range("/"), next);
    const bool is_lost = absl::IsOutOfRange(opened.status());
    if (!opened.ok() && (!is_lost || next >= latest)) co_return opened.status();
    if (is_lost) {
      lost = next;
    } else {
      oldest = {.after = next, .watch = *std::move(opened)};
      if (lost < 0) break;  // all that was wanted
    }
    const store::Revision kept = oldest.watch != nullptr ? oldest.after : latest + 1;
    next = lost + std::max<store::Revision>(1, (kept - lost) / 2);
  }
  if (oldest.watch == nullptr) co_return absl::CancelledError("stopped");
  co_return oldest;
}

asio::awaitable<void> FeedService::watch_deadlines() {
  for (;;) {
    const bool slept = co_await net::pause(std::chrono::seconds(1));
    if (!slept) co_return;
    note_reached();
    const std::optional<Time> deadline = fan_out_.next_deadline();
    if (deadline && *deadline <= clock_.now()) wake_(fan_out_.on_tick(clock_.now()));
  }
}

// Not all that is written is an event: records of requests, a fence of etcd's.
void FeedService::note_reached() {
  if (watch_ != nullptr && fan_out_.initialised()) fan_out_.note_latest(watch_->reached());
}

void FeedService::stop() {
  stopped_ = true;
  if (watch_ != nullptr) watch_->close();
}

}  // namespace holdfast::api

// The part of PresenceService that finds who has fallen silent and says so in the store.
#include <fmt/format.h>

#include <utility>

#include "api/presence_service.h"
#include "api/resource_service.h"
#include "base/log.h"

namespace holdfast::api {
namespace {

bool is_lost_race(const Status& status) {
  return absl::IsAborted(status) || absl::IsNotFound(status);
}

}  // namespace

asio::awaitable<void> PresenceService::tick() {
  for (;;) {
    const bool slept = co_await net::pause(options_.tick);
    if (!slept || stopped_) co_return;
    const Time now = clock_.now();
    // Whoever does not hear announcements does not know who is silent.
    if (hooks_.is_active && !hooks_.is_active()) {
      cut_off_ = true;
      continue;
    }
    if (cut_off_) table_.grant_grace(now);
    cut_off_ = false;
    // Also while marks are being written: a tick that is late means that this process was away.
    std::vector<health::Overdue> overdue =
        table_.on_tick(now, marking_ || !may_mark() ? 0 : options_.offline_at_once);
    if (!overdue.empty()) tasks_.spawn(mark_offline(std::move(overdue)));
  }
}

asio::awaitable<void> PresenceService::mark_offline(std::vector<health::Overdue> overdue) {
  marking_ = true;
  while (!overdue.empty() && !stopped_ && may_mark()) {
    Result<std::vector<store::Operation>> marks = co_await read_marks(overdue);
    Status status = marks.status();
    if (status.ok() && !marks->empty()) status = co_await commit_marks(*std::move(marks));
    if (!status.ok()) {
      stats_.failed_marks += 1;
      cut_off_ = true;
      log::warn("cannot mark nodes as offline", {{"why", status.ToString()}});
      break;
    }
    overdue = table_.on_tick(clock_.now(), options_.offline_at_once);
  }
  marking_ = false;
}

asio::awaitable<Result<std::vector<store::Operation>>> PresenceService::read_marks(
    const std::vector<health::Overdue>& overdue) {
  std::vector<store::Operation> marks;
  for (const health::Overdue& one : overdue) {
    const Result<store::Item> item = co_await store_.get(node_key(one.id));
    if (absl::IsNotFound(item.status())) {
      table_.observed_gone(one.id);
      continue;
    }
    if (!item.ok()) co_return item.status();
    std::optional<store::Operation> mark = make_mark(*item, one);
    if (mark) marks.push_back(*std::move(mark));
  }
  co_return marks;
}

std::optional<store::Operation> PresenceService::make_mark(const store::Item& item,
                                                           const health::Overdue& overdue) {
  Result<v1::Resource> resource = decode_item(item);
  const std::optional<health::Presence> presence =
      resource.ok() ? presence_of(*resource) : std::nullopt;
  if (!presence) {
    table_.observed_gone(overdue.id);
    return std::nullopt;
  }
  if (presence->offline || presence->last_heartbeat != overdue.last_heartbeat) {
    // Another controller knows better; what it wrote has not come here yet.
    stats_.lost_races += 1;
    table_.observed(*presence, clock_.now());
    return std::nullopt;
  }
  const Duration late = clock_.now() - overdue.deadline;
  set_offline_since(*resource,
                    clock_.wall_now() - std::chrono::duration_cast<WallTime::duration>(late));
  resource->mutable_metadata()->clear_revision();
  store::Operation mark;
  mark.key = item.key;
  mark.value = resource->SerializeAsString();
  mark.expires = item.expires;
  mark.precondition = store::Precondition::Revision;
  mark.revision = item.revision;
  return mark;
}

// No more at once than other commits have: the other half of a pair is sent each as a whole.
asio::awaitable<Status> PresenceService::commit_marks(std::vector<store::Operation> marks) {
  std::vector<store::Operation> together;
  size_t bytes = 0;
  for (store::Operation& mark : marks) {
    const size_t size = mark.key.size() + mark.value.size();
    if (!together.empty() && bytes + size > options_.batches.max_bytes) {
      CO_TRY_OK(co_await commit_together(std::exchange(together, {})));
      bytes = 0;
    }
    bytes += size;
    together.push_back(std::move(mark));
  }
  co_return co_await commit_together(std::move(together));
}

asio::awaitable<Status> PresenceService::commit_together(std::vector<store::Operation> marks) {
  const size_t count = marks.size();
  const Status all = co_await commit_checked(marks);
  if (all.ok()) stats_.marked_offline += count;
  if (!is_lost_race(all)) co_return all;
  // One of them announced itself meanwhile: the others, each on its own.
  for (store::Operation& mark : marks) {
    std::vector<store::Operation> one;
    one.push_back(std::move(mark));
    const Status status = co_await commit_checked(std::move(one));
    if (status.ok()) stats_.marked_offline += 1;
    if (is_lost_race(status)) stats_.lost_races += 1;
    if (!status.ok() && !is_lost_race(status)) co_return status;
  }
  co_return absl::OkStatus();
}

// Whoever lost the task since marks nobody: the store refuses it, however late it wakes up.
asio::awaitable<Status> PresenceService::commit_checked(std::vector<store::Operation> marks) {
  if (hooks_.mark_checks) {
    const auto checks = hooks_.mark_checks();
    if (!checks) co_return absl::AbortedError("another controller marks nodes now");
    marks.insert(marks.end(), checks->begin(), checks->end());
  }
  co_return (co_await store_.commit(std::move(marks))).status();
}

}  // namespace holdfast::api

#include "api/follow_service.h"

#include "base/log.h"
#include "net/task_group.h"

namespace holdfast::api {

asio::awaitable<void> FollowService::run() {
  Backoff backoff(options_.backoff, 1);
  while (!stopped_) {
    const Status status = co_await follow();
    const bool was_in_step = in_step_;
    if (in_step_) backoff.reset();
    in_step_ = false;
    if (stopped_) break;
    log::warn("lost its place in the store, starting again",
              {{"prefix", prefix_}, {"why", status.ToString()}});
    if (handlers_.on_lost) handlers_.on_lost(status);
    // All of it was replaced: nothing is wrong with the store.
    if (was_in_step && absl::IsOutOfRange(status)) continue;
    const bool slept = co_await net::pause(backoff.next());
    if (!slept) break;
  }
}

asio::awaitable<Status> FollowService::follow() {
  CO_TRY_OK(co_await read_all());
  CO_TRY(watch_, co_await store_.watch(store::prefix_range(prefix_), read_from_));
  while (!stopped_) {
    CO_TRY(const std::vector<store::Change> changes, co_await watch_->next());
    for (const store::Change& change : changes) {
      if (change.item.revision > read_through_) written_while_reading_.clear();
      if (is_news(change)) handlers_.on_change(change);
    }
  }
  co_return absl::CancelledError("stopped");
}

asio::awaitable<Status> FollowService::read_all() {
  std::vector<store::Item> items;
  store::KeyRange range = store::prefix_range(prefix_);
  written_while_reading_.clear();
  for (bool first = true, more = true; more; first = false) {
    CO_TRY(store::RangeResult page, co_await store_.range({range, options_.page_items}));
    if (stopped_) co_return absl::CancelledError("stopped");
    if (first) read_from_ = page.revision;
    read_through_ = page.revision;
    for (store::Item& item : page.items) {
      if (item.revision > read_from_) written_while_reading_[item.key] = item.revision;
      items.push_back(std::move(item));
    }
    more = page.more && !items.empty();
    if (more) range.begin = items.back().key + '\0';
  }
  handlers_.on_reset(std::move(items), read_from_);
  in_step_ = true;
  co_return absl::OkStatus();
}

bool FollowService::is_news(const store::Change& change) const {
  const auto read = written_while_reading_.find(change.item.key);
  return read == written_while_reading_.end() || change.item.revision > read->second;
}

void FollowService::stop() {
  stopped_ = true;
  if (watch_ != nullptr) watch_->close();
}

}  // namespace holdfast::api

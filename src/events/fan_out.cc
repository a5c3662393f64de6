#include "events/fan_out.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/check.h"

namespace holdfast::events {
namespace {

// Messages remembered per view: watchers in step find theirs, stragglers build their own.
constexpr size_t kBuiltPerView = 4;

Allowed listed_in(const std::vector<WatchKind>& kinds) {
  return [&kinds](const WatchKind& kind) -> Status {
    if (contains(kinds, kind)) return absl::OkStatus();
    return absl::UnimplementedError(
        fmt::format("kind {} cannot be watched here", in_quotes(kind.kind)));
  };
}

}  // namespace

std::vector<WatcherId> FanOut::init(std::vector<WatchKind> confirmed, int64_t revision,
                                    int64_t latest) {
  HF_CHECK(!initialised_, "a source inits once between resets");
  confirmed_ = std::move(confirmed);
  initialised_ = true;
  floor_ = last_revision_ = revision;
  latest_ = std::max(revision, latest);
  std::vector<WatcherId> woken;
  for (auto& [id, watcher] : watchers_) {
    if (watcher.closed) continue;
    Status status = start(watcher);
    if (!status.ok()) watcher.closed = std::move(status);
    woken.push_back(id);
  }
  return woken;
}

std::vector<WatcherId> FanOut::reset(Status why) {
  std::vector<WatcherId> woken;
  for (auto& [id, watcher] : watchers_) {
    woken.push_back(id);
    if (watcher.view != nullptr) leave_view(watcher, id);
    if (!watcher.closed) watcher.closed = why;
  }
  first_ = end();  // positions are never used twice
  ring_.clear();
  bytes_ = 0;
  cursors_at_end_ = 0;
  initialised_ = false;
  return woken;
}

Result<WatcherId> FanOut::add(const WatchRequest& request) {
  if (watchers_.size() >= options_.max_watchers) {
    stats_.refused += 1;
    return absl::ResourceExhaustedError(
        fmt::format("{} watchers are the most this server takes", options_.max_watchers));
  }
  Watcher watcher;
  watcher.request = request;
  if (initialised_) {
    TRY_OK(start(watcher));
  } else {
    TRY_OK(narrow(request, listed_in(configured_)).status());
  }
  const WatcherId id = next_id_++;
  watchers_.emplace(id, std::move(watcher));
  return id;
}

// Gives a watcher its view and its place in the ring, or says why it cannot have them.
Status FanOut::start(Watcher& watcher) {
  TRY(std::vector<WatchKind> kinds, narrow(watcher.request, listed_in(confirmed_)));
  const int64_t after = watcher.request.after_revision;
  uint64_t cursor = end();
  if (after != 0 && after < floor_) {
    return absl::OutOfRangeError(fmt::format(
        "compacted: changes after revision {} are kept, not those after {}; list, then watch from "
        "the list's revision",
        floor_, after));
  }
  if (after > latest_) {
    return absl::OutOfRangeError(
        fmt::format("revision {} is in the future; the latest is {}", after, latest_));
  }
  watcher.after = after != 0 ? after : latest_;
  if (after != 0) {
    const auto entry = std::ranges::upper_bound(
        ring_, after, {}, [](const Entry& candidate) { return candidate.event.revision; });
    cursor = first_ + static_cast<uint64_t>(entry - ring_.begin());
  }
  watcher.view = &view_for(std::move(kinds));
  watcher.view->watchers += 1;
  watcher.cursor = cursor;
  cursors_at(cursor) += 1;
  return absl::OkStatus();
}

FanOut::View& FanOut::view_for(std::vector<WatchKind> kinds) {
  for (const std::unique_ptr<View>& view : views_) {
    if (view->kinds == kinds) return *view;
  }
  views_.push_back(std::make_unique<View>());
  views_.back()->kinds = std::move(kinds);
  return *views_.back();
}

void FanOut::leave_view(Watcher& watcher, WatcherId id) {
  View& view = *watcher.view;
  if (watcher.idle) std::erase(view.idle, id);
  watcher.idle = false;
  watcher.view = nullptr;
  view.watchers -= 1;
  if (view.watchers > 0) return;
  std::erase_if(views_,
                [&](const std::unique_ptr<View>& candidate) { return candidate.get() == &view; });
}

void FanOut::remove(WatcherId id) {
  const auto found = watchers_.find(id);
  if (found == watchers_.end()) return;
  Watcher& watcher = found->second;
  if (watcher.view != nullptr) {
    if (!watcher.idle) cursors_at(watcher.cursor) -= 1;
    leave_view(watcher, id);
  }
  watchers_.erase(found);
  std::vector<WatcherId> nobody;
  trim(std::nullopt, nobody);
}

size_t& FanOut::cursors_at(uint64_t position) {
  HF_CHECK(position >= first_ && position <= end(), "a cursor stands in the ring");
  return position == end() ? cursors_at_end_ : ring_[position - first_].cursors;
}

std::vector<WatcherId> FanOut::append(std::vector<Event> events, Time now) {
  HF_CHECK(initialised_, "a source inits before it has events");
  std::vector<WatcherId> woken;
  for (Event& event : events) {
    HF_CHECK(event.revision >= last_revision_, "events come in order of revision");
    last_revision_ = event.revision;
    note_latest(event.revision);
    bytes_ += event.footprint();
    ring_.push_back({std::move(event), now, cursors_at_end_});
    cursors_at_end_ = 0;
    stats_.events += 1;
    for (const std::unique_ptr<View>& view : views_) wake_idle(*view, woken);
  }
  trim(now, woken);
  return woken;
}

// An idle watcher has no cursor, so what does not concern it costs it nothing; the first event that
// does gives it one.
void FanOut::wake_idle(View& view, std::vector<WatcherId>& woken) {
  Entry& newest = ring_.back();
  if (view.idle.empty() || view_of(newest.event, view.kinds).empty()) return;
  for (const WatcherId id : view.idle) {
    Watcher& watcher = watchers_.at(id);
    watcher.idle = false;
    watcher.cursor = end() - 1;
  }
  newest.cursors += view.idle.size();
  woken.insert(woken.end(), view.idle.begin(), view.idle.end());
  view.idle.clear();
}

Taken FanOut::take(WatcherId id) {
  const auto found = watchers_.find(id);
  if (found == watchers_.end()) return Closed{absl::NotFoundError("no such watcher")};
  Watcher& watcher = found->second;
  if (watcher.closed) {
    Closed closed{*watcher.closed};
    watchers_.erase(found);
    return closed;
  }
  if (watcher.view == nullptr || watcher.idle) return Nothing{};
  if (!watcher.init_sent) {
    watcher.init_sent = true;
    return init_message(watcher);
  }
  skip_what_is_older(watcher);
  View& view = *watcher.view;
  auto known = std::ranges::find_if(view.built, [&](const Built& built) {
    return built.from == watcher.cursor && (built.message != nullptr || built.to == end());
  });
  if (known == view.built.end()) {
    if (view.built.size() == kBuiltPerView) view.built.pop_front();
    view.built.push_back(build(view, watcher.cursor));
    known = std::prev(view.built.end());
    if (known->message != nullptr) stats_.messages_built += 1;
  }
  cursors_at(watcher.cursor) -= 1;
  watcher.cursor = known->to;
  if (known->message == nullptr) {
    view.idle.push_back(id);
    watcher.idle = true;
    return Nothing{};
  }
  cursors_at(watcher.cursor) += 1;
  stats_.messages_taken += 1;
  return known->message;
}

void FanOut::skip_what_is_older(Watcher& watcher) {
  while (watcher.cursor != end() &&
         ring_[watcher.cursor - first_].event.revision <= watcher.after) {
    cursors_at(watcher.cursor) -= 1;
    watcher.cursor += 1;
    cursors_at(watcher.cursor) += 1;
  }
}

// The next message for `view` from position `from`: whole revisions, ending after the one that
// passes the size limit.
FanOut::Built FanOut::build(const View& view, uint64_t from) const {
  auto message = std::make_unique<Message>();
  uint64_t at = from;
  for (; at != end(); ++at) {
    const Event& event = ring_[at - first_].event;
    if (message->bytes.size() >= options_.max_message_bytes &&
        event.revision != ring_[at - first_ - 1].event.revision) {
      break;
    }
    const std::string_view bytes = view_of(event, view.kinds);
    if (bytes.empty()) continue;
    message->bytes += bytes;
    message->events += 1;
    message->last_revision = event.revision;
  }
  if (message->events == 0) return {.from = from, .to = at, .message = nullptr};
  return {.from = from, .to = at, .message = std::move(message)};
}

std::shared_ptr<const Message> FanOut::init_message(const Watcher& watcher) const {
  Message message{.bytes = encode_init(watcher.view->kinds, watcher.after),
                  .events = 1,
                  .last_revision = watcher.after};
  return std::make_shared<const Message>(std::move(message));
}

// Without a time, only what nobody needs is dropped.
bool FanOut::front_is_due(std::optional<Time> now) const {
  if (ring_.empty()) return false;
  if (bytes_ > options_.max_bytes) return now.has_value() || ring_.front().cursors == 0;
  if (ring_.size() <= options_.capacity) return false;
  if (ring_.front().cursors == 0) return true;
  return now && ring_[options_.capacity].appended + options_.grace <= *now;
}

void FanOut::trim(std::optional<Time> now, std::vector<WatcherId>& woken) {
  while (front_is_due(now)) drop_front(woken);
}

void FanOut::drop_front(std::vector<WatcherId>& woken) {
  Entry& front = ring_.front();
  if (front.cursors > 0) {
    const Status why = absl::ResourceExhaustedError(fmt::format(
        "too slow: {} events behind for longer than {}; resume after the last revision you saw",
        ring_.size(), to_short_string(options_.grace)));
    for (auto& [id, watcher] : watchers_) {
      if (watcher.view == nullptr || watcher.idle || watcher.cursor != first_) continue;
      leave_view(watcher, id);
      watcher.closed = why;
      woken.push_back(id);
      stats_.evicted += 1;
    }
  }
  floor_ = front.event.revision;
  bytes_ -= front.event.footprint();
  ring_.pop_front();
  first_ += 1;
}

std::optional<Time> FanOut::next_deadline() const {
  if (ring_.size() <= options_.capacity) return std::nullopt;
  return ring_[options_.capacity].appended + options_.grace;
}

std::vector<WatcherId> FanOut::on_tick(Time now) {
  std::vector<WatcherId> woken;
  trim(now, woken);
  return woken;
}

}  // namespace holdfast::events

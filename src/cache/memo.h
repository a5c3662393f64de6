// One load for all who ask for the same at the same time, its result remembered for a moment: a
// cache that is not readable must not multiply the reads of its upstream.
//
//   ask(key) ──► Load: yours to do; finish() it ──► Known for `ttl` ──► forgotten
//            ──► Join: someone is at it; the ticket says who
//
// A failure is a result like any other. Knows no waiting: memo_service.h does that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>

#include "base/check.h"
#include "base/clock.h"

namespace holdfast::cache {

struct MemoOptions {
  Duration ttl = std::chrono::seconds(1);
  size_t max_keys = 1'024;
  size_t max_key_bytes = 4'096;  // longer ones are loaded, not remembered
  // Of all results. The oldest go first; one larger than a quarter of it is not remembered.
  size_t max_bytes = size_t{64} << 20;
};

struct MemoStats {
  uint64_t loads = 0;
  uint64_t joined = 0;        // askers who waited for another's load
  uint64_t remembered = 0;    // askers who were answered at once
  uint64_t dropped = 0;       // results forgotten early, or not remembered, for want of room
  uint64_t without_memo = 0;  // loads nobody could join: every place was taken, or the key too long
};

template <typename Value>
class Memo {
 public:
  using Ticket = uint64_t;
  using Result = std::shared_ptr<const Value>;
  struct Load {
    Ticket ticket;
  };
  struct Join {
    Ticket ticket;
  };
  struct Known {
    Result result;
  };
  using Answer = std::variant<Load, Join, Known>;

  explicit Memo(MemoOptions options) : options_(options) {}

  Answer ask(const std::string& key, Time now) {
    forget_old(now);
    if (const auto found = entries_.find(key); found != entries_.end()) {
      const Entry& entry = found->second;
      if (entry.result == nullptr) {
        stats_.joined += 1;
        return Join{entry.ticket};
      }
      stats_.remembered += 1;
      return Known{entry.result};
    }
    const Ticket ticket = next_ticket_++;
    stats_.loads += 1;
    if (key.size() > options_.max_key_bytes || !make_room()) {
      stats_.without_memo += 1;
      return Load{ticket};
    }
    entries_.emplace(key, Entry{.ticket = ticket});
    in_flight_.emplace(ticket, key);
    return Load{ticket};
  }

  // The result has this many bytes. Requires: a ticket that a Load carried, once.
  void finish(Ticket ticket, Result result, size_t bytes, Time now) {
    HF_CHECK(result != nullptr, "a load has a result");
    const auto flight = in_flight_.find(ticket);
    if (flight == in_flight_.end()) return;  // one without memo
    const auto found = entries_.find(flight->second);
    HF_CHECK(found != entries_.end(), "what is in flight has an entry");
    std::string key = std::move(flight->second);
    in_flight_.erase(flight);
    if (bytes > options_.max_bytes / 4) {
      entries_.erase(found);
      stats_.dropped += 1;
      return;
    }
    found->second.result = std::move(result);
    finished_.push_back({now + options_.ttl, std::move(key), bytes});
    bytes_ += bytes;
    while (bytes_ > options_.max_bytes) drop_oldest();
  }

  // When on_tick() will find something to forget.
  std::optional<Time> next_deadline() const {
    if (finished_.empty()) return std::nullopt;
    return finished_.front().until;
  }
  void on_tick(Time now) { forget_old(now); }

  size_t size() const { return entries_.size(); }
  // Of all results that are remembered.
  size_t bytes() const { return bytes_; }
  const MemoStats& stats() const { return stats_; }

 private:
  struct Entry {
    Ticket ticket = 0;
    Result result = nullptr;  // null while in flight
  };
  struct Finished {
    Time until;
    std::string key;
    size_t bytes = 0;
  };

  void drop_oldest() {
    forget_oldest();
    stats_.dropped += 1;
  }
  void forget_oldest() {
    bytes_ -= finished_.front().bytes;
    entries_.erase(finished_.front().key);
    finished_.pop_front();
  }
  void forget_old(Time now) {
    while (!finished_.empty() && finished_.front().until <= now) forget_oldest();
  }
  // False if every place is taken by a load.
  bool make_room() {
    if (entries_.size() < options_.max_keys) return true;
    if (finished_.empty()) return false;
    drop_oldest();
    return true;
  }

  MemoOptions options_;
  std::unordered_map<std::string, Entry> entries_;
  std::unordered_map<Ticket, std::string> in_flight_;
  std::list<Finished> finished_;  // the oldest first, as all live equally long
  size_t bytes_ = 0;
  Ticket next_ticket_ = 1;
  MemoStats stats_;
};

}  // namespace holdfast::cache

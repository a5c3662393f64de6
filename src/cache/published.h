// A value that one thread replaces and many threads read without waiting for it or each other.
//
//   writer: publish(next) ──► current ◄── guard of thread 1
//                             retired ◄── guard of thread 2: freed by reclaim() once it lets go
//
// Readers have a slot each, on a cache line of its own, that says what they are looking at (a
// hazard pointer). The writer frees what no slot names; nobody ever blocks. All order comes from
// atomics, not fences, so that ThreadSanitizer can follow it; they are sequentially consistent
// except where a comment says why less is enough.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"

namespace holdfast::cache {

// Something that can be freed a slice at a time: frees at most `budget` of its parts, takes what it
// used from `budget`, and says whether nothing is left.
template <typename T>
concept Dismantled = requires(T& value, size_t& budget) {
  { value.dismantle(budget) } -> std::same_as<bool>;
};

// Reclaiming goes in slices: at most so many parts at once, and the next slice this much later.
inline constexpr size_t kReclaimedAtOnce = 512;
inline constexpr std::chrono::milliseconds kReclaimSoon{1};

struct PublishedOptions {
  size_t max_readers = 64;
};

template <typename T>
class Published {
  // Where one reader says what it looks at. Two lines: processors fetch them in pairs.
  struct alignas(128) Slot {
    std::atomic<const T*> seen = nullptr;
    std::atomic<bool> taken = false;
  };

 public:
  // Gives `const T&` until it goes. Stays on its reader's thread.
  class Guard {
   public:
    // Who sees the slot empty sees that the reads are over; when it sees that does not matter.
    ~Guard() { slot_.seen.store(nullptr, std::memory_order_release); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

    const T& operator*() const { return *seen_; }
    const T* operator->() const { return seen_; }

   private:
    friend Published;
    Guard(Slot& slot, const std::atomic<T*>& current) : slot_(slot), seen_(current.load()) {
      HF_CHECK(slot.seen.load(std::memory_order_relaxed) == nullptr,
               "a reader has one guard at a time");
      // What was current before the slot named it may be free already: look again.
      for (const T* again = nullptr;; seen_ = again) {
        slot_.seen.store(seen_);
        again = current.load();
        if (again == seen_) return;
      }
    }

    Slot& slot_;
    const T* seen_;
  };

  // One per thread, gone before what it reads is. Requires: fewer than max_readers are there.
  class Reader {
   public:
    explicit Reader(Published& published)
        : current_(published.current_), slot_(published.take_slot()) {}
    ~Reader() {
      HF_CHECK(slot_.seen.load() == nullptr, "a guard goes before its reader");
      slot_.taken.store(false);
    }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    // Requires: no other guard of this reader is there.
    Guard read() { return Guard(slot_, current_); }

   private:
    const std::atomic<T*>& current_;
    Slot& slot_;
  };

  explicit Published(std::unique_ptr<T> first, PublishedOptions options = {})
      : slots_(options.max_readers), current_(first.release()) {
    HF_CHECK(current_.load() != nullptr, "something is published from the start");
  }
  ~Published() {
    HF_CHECK(std::ranges::none_of(slots_, [](const Slot& slot) { return slot.taken.load(); }),
             "readers go before what they read");
    delete current_.load();
  }
  Published(const Published&) = delete;
  Published& operator=(const Published&) = delete;

  // Writer only. Never waits, frees nothing. Requires: not null.
  void publish(std::unique_ptr<T> next) {
    HF_CHECK(next != nullptr, "there is always something to read");
    retired_.emplace_back(current_.exchange(next.release()));
  }
  // Writer only. Something that nobody reads, to be freed by reclaim() a slice at a time.
  void discard(std::unique_ptr<T> unpublished) { unread_.push_back(std::move(unpublished)); }
  // Writer only.
  const T& current() const { return *current_.load(); }

  // What reclaim() has not freed yet: values somebody looks at, and values for the next call.
  struct Left {
    size_t read = 0;
    size_t unread = 0;
    bool none() const { return read + unread == 0; }
    friend bool operator==(const Left&, const Left&) = default;
  };
  // Writer only. Frees what is retired and unread, at most `budget` parts of it (see Dismantled; a
  // value that cannot be dismantled is one part). Call it after publish(), and again while
  // something is left: at once for what is unread, a while later for what is read.
  Left reclaim(size_t budget = SIZE_MAX) {
    const auto still_read =
        std::ranges::partition(retired_, [&](const auto& value) { return is_read(value.get()); });
    std::ranges::move(still_read, std::back_inserter(unread_));
    retired_.erase(still_read.begin(), still_read.end());
    while (!unread_.empty() && budget > 0 && free_parts(*unread_.back(), budget)) {
      unread_.pop_back();
    }
    return {.read = retired_.size(), .unread = unread_.size()};
  }

 private:
  Slot& take_slot() {
    const auto mine = std::ranges::find_if(slots_, [](Slot& slot) {
      bool taken = false;
      return slot.taken.compare_exchange_strong(taken, true);
    });
    HF_CHECK(mine != slots_.end(), "no more than max_readers read at once");
    return *mine;
  }

  bool is_read(const T* value) const {
    return std::ranges::any_of(slots_, [&](const Slot& slot) { return slot.seen.load() == value; });
  }

  static bool free_parts(T& value, size_t& budget) {
    if constexpr (Dismantled<T>) return value.dismantle(budget);
    budget -= 1;
    return true;
  }

  std::vector<Slot> slots_;
  std::atomic<T*> current_;
  std::vector<std::unique_ptr<T>> retired_;  // readers may be looking at them
  std::vector<std::unique_ptr<T>> unread_;   // half dismantled, or next to be
};

}  // namespace holdfast::cache

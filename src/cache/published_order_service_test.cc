// The one order in published.h that ThreadSanitizer does not check: that of a reader's store to its
// slot and its second look at what is current. Between them is the processor's store buffer, which
// only code at full speed gets ahead of. This file is therefore optimised and without sanitizers.
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <thread>

#include "cache/published.h"

namespace holdfast::cache {
namespace {

// Says when it goes, so that a reader can tell though it must not look at it any more.
struct Canary {
  Canary(std::atomic<int>& newest_gone, int at) : gone(newest_gone), number(at) {}
  ~Canary() { gone.store(number); }
  std::atomic<int>& gone;
  const int number;
};

// The writer frees at once, and values go in the order of their numbers: none is gone that is
// looked at.
TEST(PublishedOrder, NothingIsFreedInTheMomentAReaderTurnsToIt) {
  constexpr int kValues = 8'000'000;
  std::atomic<int> gone = -1;
  std::atomic<int> wrong = 0;
  std::atomic<bool> over = false;
  Published<Canary> published(std::make_unique<Canary>(gone, 0), {.max_readers = 1});
  std::latch begun(1);
  std::jthread thread([&] {
    Published<Canary>::Reader reader(published);
    begun.count_down();
    while (!over.load(std::memory_order_relaxed)) {
      const auto guard = reader.read();
      const int number = guard->number;
      for (int look = 0; look < 8; ++look) wrong += gone.load() == number ? 1 : 0;
    }
  });
  begun.wait();

  for (int i = 1; i <= kValues; ++i) {
    published.publish(std::make_unique<Canary>(gone, i));
    published.reclaim();
  }
  over = true;
  thread.join();

  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace holdfast::cache

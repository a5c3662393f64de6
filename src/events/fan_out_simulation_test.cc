// Random watchers, events, reads and removals: whoever is not closed sees exactly what concerns it.
#include <gtest/gtest.h>

#include <deque>
#include <iterator>
#include <map>

#include "base/rng.h"
#include "events/fan_out.h"
#include "events/fan_out_fixture.h"

namespace holdfast::events {
namespace {

using namespace std::chrono_literals;

class RandomRun {
 public:
  explicit RandomRun(uint64_t seed) : rng_(seed) { ring_.init(kBoth, 1, 1); }

  void step() {
    now_ += rng_.below(Duration(2s));
    switch (rng_.below(5)) {
      case 0:
        return add();
      case 1:
        return append();
      case 2:
        return remove();
      case 3:
        ring_.on_tick(now_);
        return;
      default:
        return take();
    }
  }

 private:
  struct Expectation {
    std::string kind;
    std::deque<int64_t> due;
  };

  std::string any_kind() { return rng_.below(2) == 0 ? "service" : "agent"; }

  void add() {
    const std::string kind_name = any_kind();
    const auto id = ring_.add({.kinds = {kind(kind_name)}});
    if (!id.ok()) return;
    expected_[*id] = {kind_name, {}};
    ring_.take(*id);  // Init
  }

  void append() {
    const std::string kind_name = any_kind();
    ring_.append({put(kind_name, "x", ++revision_)}, now_);
    for (auto& [id, one] : expected_) {
      if (one.kind == kind_name) one.due.push_back(revision_);
    }
  }

  void remove() {
    if (expected_.empty() || rng_.below(4) != 0) return;
    ring_.remove(expected_.begin()->first);
    expected_.erase(expected_.begin());
  }

  void take() {
    if (expected_.empty()) return;
    const auto chosen =
        std::next(expected_.begin(), static_cast<long>(rng_.below(expected_.size())));
    std::deque<int64_t>& due = chosen->second.due;
    const Taken taken = ring_.take(chosen->first);
    if (std::holds_alternative<Nothing>(taken)) EXPECT_TRUE(due.empty()) << "missed events";
    if (std::holds_alternative<Closed>(taken)) expected_.erase(chosen);
    const auto* message = std::get_if<0>(&taken);
    if (message == nullptr) return;
    v1::WatchResponse response;
    ASSERT_TRUE(response.ParseFromString((*message)->bytes));
    for (const v1::Event& event : response.events()) {
      ASSERT_FALSE(due.empty());
      ASSERT_EQ(event.revision(), due.front());
      due.pop_front();
    }
  }

  Rng rng_;
  FanOut ring_{{.capacity = 8,
                .max_bytes = 1 << 20,
                .grace = 5s,
                .max_watchers = 20,
                .max_message_bytes = 256},
               kBoth};
  std::map<WatcherId, Expectation> expected_;
  Time now_{};
  int64_t revision_ = 1;
};

TEST(FanOutSimulation, NoGapAndNoDuplicateInRandomRuns) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomRun run(seed);
    for (int i = 0; i < 300 && !testing::Test::HasFailure(); ++i) run.step();
  }
}

}  // namespace
}  // namespace holdfast::events

// The rules for leaving, and where each is shown:
//
// - deregisters first of all, and goes on without  DeregistersFirst,
// AnUnreachableControllerHolds...
// - agents are advised before streams are awaited  AdvisesAllBeforeItWaits
// - not all at once: in another order, at a rate   AdvisesInAnotherOrderAtABoundedRate,
//                                                  ManyAgentsAreAdvisedNoFasterThanTheRate
// - always before the deadline                     TheDeadlineGoesBeforeTheRate
// - running streams finish, up to the deadline     WaitsForStreams..., TheDeadlineClosesWhatIsLeft
// - periodic advice: interval + jitter             PeriodicAdviceTest
#include "tunnel/drain_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace holdfast::tunnel {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

std::vector<TunnelId> tunnels(size_t count) {
  std::vector<TunnelId> ids(count);
  std::iota(ids.begin(), ids.end(), 1);
  return ids;
}

std::string name_of(const DrainStep& step) {
  if (std::holds_alternative<Deregister>(step)) return "deregister";
  if (std::holds_alternative<TellOthers>(step)) return "tell";
  if (std::holds_alternative<AdviseTunnel>(step)) return "advise";
  if (std::holds_alternative<StopListening>(step)) return "stop listening";
  return std::get<CloseAll>(step).in_time ? "close" : "cut";
}

class DrainPlanTest : public testing::Test {
 protected:
  // Every step and when, from now on until `until` or the end.
  struct Done {
    std::string step;
    Duration after;
    TunnelId tunnel = 0;
    Duration closes_in{};
  };
  std::vector<Done> run(const DrainLoad& load, Duration until = 1h) {
    std::vector<Done> done;
    const Time end = began_ + until;
    for (;;) {
      for (const DrainStep& step : plan_.on_tick(load, now_)) {
        done.push_back({.step = name_of(step), .after = now_ - began_});
        if (const auto* advice = std::get_if<AdviseTunnel>(&step)) {
          done.back().tunnel = advice->tunnel;
          done.back().closes_in = advice->closes_in;
        }
      }
      const std::optional<Time> next = plan_.next_deadline();
      if (!next || *next > end) return done;
      EXPECT_TRUE(*next > now_ || *next == began_) << "no busy loop";
      now_ = std::max(now_, *next);
    }
  }
  static std::vector<Done> advice(const std::vector<Done>& done) {
    std::vector<Done> result;
    for (const Done& one : done) {
      if (one.step == "advise") result.push_back(one);
    }
    return result;
  }

  const Time began_{1000s};
  Time now_ = began_;
  DrainPlan plan_{{}, 7};
};

TEST_F(DrainPlanTest, DoesNothingBeforeItBegins) {
  EXPECT_THAT(run({}), IsEmpty());
  EXPECT_FALSE(plan_.is_draining());
  EXPECT_EQ(plan_.deadline(), std::nullopt);
}

TEST_F(DrainPlanTest, DeregistersFirst) {
  plan_.begin(tunnels(3), now_);
  const auto first = plan_.on_tick({.tunnels = 3}, now_);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(name_of(first[0]), "deregister");
  EXPECT_THAT(plan_.on_tick({.tunnels = 3}, now_), IsEmpty());

  plan_.deregistered();
  const auto next = plan_.on_tick({.tunnels = 3}, now_);
  ASSERT_GE(next.size(), 1U);
  EXPECT_EQ(name_of(next[0]), "tell");
  EXPECT_EQ(plan_.phase(), DrainPhase::Advising);
}

TEST_F(DrainPlanTest, AnUnreachableControllerHoldsItUpForTwoSecondsOnly) {
  plan_.begin(tunnels(1), now_);
  const std::vector<Done> done = run({.tunnels = 1}, 2s);
  ASSERT_GE(done.size(), 2U);
  EXPECT_EQ(done[1].step, "tell");
  EXPECT_EQ(done[1].after, 2s);
}

TEST_F(DrainPlanTest, AdvisesAllBeforeItWaits) {
  plan_.begin(tunnels(30), now_);
  plan_.deregistered();
  const std::vector<Done> done = run({.streams = 5, .tunnels = 30}, 1min);

  ASSERT_EQ(done.size(), 2U + 30 + 1);
  EXPECT_EQ(done.back().step, "stop listening");
  EXPECT_LE(done.back().after, 2s);
  EXPECT_EQ(plan_.phase(), DrainPhase::Waiting);
  for (const Done& one : advice(done)) EXPECT_EQ(one.closes_in, 5min - one.after);
}

TEST_F(DrainPlanTest, AdvisesInAnotherOrderAtABoundedRate) {
  plan_.begin(tunnels(100), now_);
  plan_.deregistered();
  const std::vector<Done> done = advice(run({.streams = 1}, 1min));
  std::vector<TunnelId> order;
  std::map<int64_t, int> per_second;
  for (const Done& one : done) {
    order.push_back(one.tunnel);
    ++per_second[one.after / 1s];
  }
  ASSERT_EQ(order.size(), 100U);
  EXPECT_FALSE(std::ranges::is_sorted(order));
  for (const auto& [second, count] : per_second) EXPECT_LE(count, 56) << second;
  std::ranges::sort(order);
  EXPECT_EQ(order, tunnels(100)) << "each once";
}

TEST_F(DrainPlanTest, ManyAgentsAreAdvisedNoFasterThanTheRate) {
  plan_.begin(tunnels(2'000), now_);
  plan_.deregistered();
  const std::vector<Done> done = advice(run({.streams = 1}, 4min));
  ASSERT_EQ(done.size(), 2'000U);
  EXPECT_GE(done.back().after, 38s);
  EXPECT_LE(done.back().after, 42s);
  std::map<int64_t, int> per_second;
  for (const Done& one : done) ++per_second[one.after / 1s];
  for (const auto& [second, count] : per_second) EXPECT_LE(count, 56) << second;
}

TEST_F(DrainPlanTest, TheDeadlineGoesBeforeTheRate) {
  plan_.begin(tunnels(2'000), now_, 20s);
  plan_.deregistered();
  const std::vector<Done> done = run({.streams = 1, .tunnels = 2'000});
  EXPECT_EQ(advice(done).size(), 2'000U);
  EXPECT_LE(advice(done).back().after, 11s);
  EXPECT_EQ(done.back().step, "cut");
  EXPECT_EQ(done.back().after, 20s);
}

TEST_F(DrainPlanTest, WithoutAgentsOrStreamsItIsOverAtOnce) {
  plan_.begin({}, now_);
  plan_.deregistered();
  std::vector<std::string> steps;
  for (const Done& one : run({})) steps.push_back(one.step);
  EXPECT_THAT(steps, ElementsAre("deregister", "tell", "stop listening", "close"));
  EXPECT_LE(now_, began_ + 10ms);
}

TEST_F(DrainPlanTest, LooksAgainAtTheLoadAfterItStopsListening) {
  plan_.begin({}, now_);
  plan_.deregistered();
  const auto steps = plan_.on_tick({}, now_);
  ASSERT_FALSE(steps.empty());
  EXPECT_EQ(name_of(steps.back()), "stop listening") << "clients in the backlog are no load yet";
  EXPECT_THAT(plan_.on_tick({.streams = 1}, now_ + 1ms), IsEmpty());
  EXPECT_EQ(plan_.on_tick({}, now_ + 2ms).size(), 1U);
}

TEST_F(DrainPlanTest, WaitsForStreamsAndClosesWithTheLast) {
  plan_.begin(tunnels(1), now_);
  plan_.deregistered();
  run({.streams = 1, .tunnels = 1}, 2min);
  EXPECT_EQ(plan_.phase(), DrainPhase::Waiting);
  now_ = began_ + 3min;
  const auto steps = plan_.on_tick({.streams = 0, .tunnels = 0}, now_);
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(name_of(steps[0]), "close");
  EXPECT_THAT(run({}), IsEmpty());
}

TEST_F(DrainPlanTest, AgentsWithNowhereToGoAreNotAwaitedForLong) {
  plan_.begin(tunnels(1), now_);
  plan_.deregistered();
  const std::vector<Done> done = run({.streams = 0, .tunnels = 1});
  EXPECT_EQ(done.back().step, "close");
  EXPECT_LE(done.back().after, 30s);
  EXPECT_GE(done.back().after, 20s);
}

TEST_F(DrainPlanTest, WithNoOtherProxyItIsOverSoon) {
  plan_.begin(tunnels(1), now_);
  plan_.deregistered();
  const std::vector<Done> done = run({.streams = 0, .tunnels = 1, .alone = true});
  EXPECT_EQ(done.back().step, "close");
  EXPECT_LE(done.back().after, 5s);
}

TEST_F(DrainPlanTest, WithNoOtherProxyRunningStreamsStillFinish) {
  plan_.begin(tunnels(1), now_);
  plan_.deregistered();
  EXPECT_EQ(run({.streams = 1, .tunnels = 1, .alone = true}, 1min).back().step, "stop listening");
  now_ = began_ + 1min;
  EXPECT_EQ(run({.streams = 0, .tunnels = 1, .alone = true}).back().step, "close");
  EXPECT_EQ(now_, began_ + 1min);
}

TEST_F(DrainPlanTest, TheDeadlineClosesWhatIsLeft) {
  plan_.begin(tunnels(1), now_);
  const std::vector<Done> done = run({.streams = 1, .tunnels = 1});
  EXPECT_EQ(done.back().step, "cut");
  EXPECT_EQ(done.back().after, 5min);
  EXPECT_EQ(plan_.phase(), DrainPhase::Closed);
}

TEST_F(DrainPlanTest, ASecondSignalClosesAtOnceButStillDeregistersFirst) {
  plan_.hurry(now_);
  const auto first = plan_.on_tick({.streams = 9, .tunnels = 9}, now_);
  ASSERT_EQ(first.size(), 1U) << "nothing is cut before the others know";
  EXPECT_EQ(name_of(first[0]), "deregister");

  plan_.deregistered();
  std::vector<std::string> steps;
  for (const Done& one : run({.streams = 9, .tunnels = 9})) steps.push_back(one.step);
  EXPECT_THAT(steps, ElementsAre("tell", "stop listening", "cut"));
  EXPECT_EQ(now_, began_);
}

TEST_F(DrainPlanTest, ASecondSignalWaitsForAnUnreachableControllerForTwoSecondsOnly) {
  plan_.hurry(now_);
  const std::vector<Done> done = run({.streams = 9, .tunnels = 9});
  ASSERT_EQ(done.size(), 4U);
  EXPECT_EQ(done.front().step, "deregister");
  EXPECT_EQ(done.back().step, "cut");
  EXPECT_EQ(done.back().after, 2s);
}

TEST_F(DrainPlanTest, WithNoTimeAtAllItStillDeregistersFirst) {
  plan_.begin(tunnels(1), now_, 0s);
  const auto first = plan_.on_tick({.streams = 1, .tunnels = 1}, now_);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(name_of(first[0]), "deregister");

  plan_.deregistered();
  std::vector<std::string> steps;
  for (const Done& one : run({.streams = 1, .tunnels = 1})) steps.push_back(one.step);
  EXPECT_THAT(steps, ElementsAre("tell", "advise", "stop listening", "cut"));
  EXPECT_EQ(now_, began_);
}

TEST_F(DrainPlanTest, ATunnelThatComesInMeanwhileIsAdvisedToo) {
  plan_.begin(tunnels(1), now_);
  plan_.tunnel_added(50, now_);
  plan_.deregistered();
  run({.streams = 1}, 30s);
  EXPECT_EQ(plan_.advised(), 2U);
  now_ = began_ + 30s;
  plan_.tunnel_added(51, now_);
  const std::vector<Done> late = advice(run({.streams = 1}, 40s));
  ASSERT_EQ(late.size(), 1U);
  EXPECT_EQ(late[0].tunnel, 51U);
  EXPECT_LE(late[0].after, 31s);
}

TEST_F(DrainPlanTest, ATunnelThatIsGoneIsNotAdvised) {
  plan_.begin(tunnels(5), now_);
  plan_.tunnel_gone(2);
  plan_.deregistered();
  plan_.on_tick({.tunnels = 4}, now_);
  plan_.tunnel_gone(4);
  for (const Done& one : advice(run({.streams = 1}, 1min))) EXPECT_NE(one.tunnel, 4U);
  EXPECT_LE(plan_.advised(), 4U);
  EXPECT_EQ(plan_.to_advise(), 0U);
}

TEST_F(DrainPlanTest, BeginningTwiceChangesNothing) {
  plan_.begin(tunnels(1), now_);
  plan_.begin(tunnels(3), now_ + 1min, 1h);
  EXPECT_THAT(plan_.deadline(), Optional(began_ + 5min));
}

TEST_F(DrainPlanTest, AnEarlierDeadlineReplacesTheFirst) {
  plan_.begin(tunnels(1), now_, 1h);
  plan_.begin({}, now_ + 1min, 30s);
  EXPECT_THAT(plan_.deadline(), Optional(began_ + 90s));
  plan_.begin({}, now_ + 1min);
  EXPECT_THAT(plan_.deadline(), Optional(began_ + 90s)) << "who names none wants no other";
}

class PeriodicAdviceTest : public testing::Test {
 protected:
  Time now_{1000s};
  PeriodicAdvice advice_{50, 7};
};

TEST_F(PeriodicAdviceTest, NeverAdvisesUnlessToldHowOften) {
  advice_.tunnel_added(1, now_);
  EXPECT_EQ(advice_.next_deadline(), std::nullopt);
  EXPECT_THAT(advice_.take_due(now_ + 1h), IsEmpty());
}

TEST_F(PeriodicAdviceTest, AdvisesEachTunnelAnIntervalAndAJitterAfterItCame) {
  advice_.set_interval(10min, tunnels(100), now_);
  std::map<TunnelId, Time> first;
  const Time end = now_ + 15min;
  for (Time at = now_; at < end; at += 100ms) {
    for (const TunnelId id : advice_.take_due(at)) first.emplace(id, at);
  }
  ASSERT_EQ(first.size(), 100U);
  std::set<Time> times;
  for (const auto& [id, at] : first) {
    EXPECT_GE(at, now_ + 10min);
    times.insert(at);
  }
  EXPECT_GT(times.size(), 90U);
}

TEST_F(PeriodicAdviceTest, ATunnelThatStaysIsAdvisedAgain) {
  advice_.set_interval(10min, tunnels(1), now_);
  int count = 0;
  for (Time at = now_; at < now_ + 1h; at += 1s) count += advice_.take_due(at).empty() ? 0 : 1;
  EXPECT_GE(count, 3);
  EXPECT_LE(count, 6);
}

TEST_F(PeriodicAdviceTest, ManyAtOnceKeepToTheRate) {
  advice_.set_interval(10s, tunnels(1'000), now_);
  for (Time at = now_ + 10s; at < now_ + 20s; at += 1s) {
    size_t count = 0;
    for (Time tick = at; tick < at + 1s; tick += 10ms) count += advice_.take_due(tick).size();
    EXPECT_LE(count, 56U);
  }
}

TEST_F(PeriodicAdviceTest, AnIntervalThatIsTakenBackStopsIt) {
  advice_.set_interval(10s, tunnels(10), now_);
  advice_.set_interval(std::nullopt, tunnels(10), now_);
  EXPECT_EQ(advice_.next_deadline(), std::nullopt);
}

}  // namespace
}  // namespace holdfast::tunnel

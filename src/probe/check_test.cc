#include "probe/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace holdfast::probe {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::Gt;
using testing::IsEmpty;

const Time kStart = Time(1h);
const Outcome kCheckWell{.healthy = true, .code = 200};
const Outcome kCheckSick{.healthy = false, .code = 500, .reason = "HTTP 500"};
const Outcome kError{.healthy = false, .error = true, .reason = "the body was cut short"};

// A check and an application over virtual time: every probe takes `takes`.
class World {
 public:
  using App = std::function<Outcome(Time now)>;

  explicit World(CheckTimes times, Verdict begin = not_checked_yet(), uint64_t seed = 1)
      : rng_(seed), check_(times, std::move(begin), rng_, kStart) {}

  // Probes until `end`, and notes when the verdict changes.
  void run(Time end, const App& app, Duration takes = 1ms) {
    for (;;) {
      const Time due = *check_.next_deadline();
      if (due >= end) break;
      now_ = due;
      ASSERT_FALSE(check_.on_tick(due - 1ns));
      ASSERT_TRUE(check_.on_tick(due));
      EXPECT_FALSE(check_.next_deadline());
      EXPECT_FALSE(check_.on_tick(due + 1h)) << "one probe at a time";
      probes.push_back(due);
      while (step(app, takes)) ++repeats;
    }
  }

  Check& check() { return check_; }

  std::vector<Time> probes;     // when each began
  std::vector<Time> turned;     // when the verdict was another than before
  std::vector<Time> explained;  // when only its reason was
  int repeats = 0;

 private:
  bool step(const App& app, Duration takes) {
    now_ += takes;
    const bool before = check_.verdict().healthy;
    const Check::Told told = check_.on_outcome(app(now_), now_);
    if (told.changed) {
      (check_.verdict().healthy == before ? explained : turned).push_back(now_);
    }
    return told.again;
  }

  Rng rng_;
  Check check_;
  Time now_ = kStart;
};

World::App always(Outcome outcome) {
  return [outcome](Time) { return outcome; };
}

// Sick from `from` to `to`.
World::App sick_between(Time from, Time to) {
  return [=](Time now) { return now >= from && now < to ? kCheckSick : kCheckWell; };
}

TEST(Check, TheDefaultsAreTheKubeletsButForThePeriod) {
  const CheckTimes times;

  EXPECT_EQ(times.failure_threshold, 3u);
  EXPECT_EQ(times.success_threshold, 1u);
  EXPECT_EQ(times.initial_delay, 0s);
  EXPECT_EQ(times.period, 5s);
  EXPECT_EQ(Probe{}.timeout, 1s);
}

TEST(Check, AServiceIsUnhealthyUntilItsFirstSuccess) {
  World world({});
  EXPECT_EQ(world.check().verdict(), (Verdict{.healthy = false, .reason = "not checked yet"}));

  world.run(kStart + 2s, always(kCheckWell));

  EXPECT_EQ(world.check().verdict(), (Verdict{.healthy = true}));
  ASSERT_EQ(world.turned.size(), 1u);
  EXPECT_LE(world.turned[0], kStart + 1s + 1ms);
}

TEST(Check, TheFirstProbeComesWithinASecondAfterTheDelayAndTheOthersSpreadOverThePeriod) {
  std::vector<int> tenths(10);
  for (uint64_t seed = 1; seed <= 1'000; ++seed) {
    World world({.initial_delay = 7s, .period = 10s}, not_checked_yet(), seed);
    world.run(kStart + 60s, always(kCheckWell));
    ASSERT_GE(world.probes.size(), 4u);
    EXPECT_GE(world.probes[0], kStart + 7s);
    EXPECT_LT(world.probes[0], kStart + 8s);
    EXPECT_EQ(world.probes[2] - world.probes[1], 10s);
    EXPECT_EQ(world.probes[3] - world.probes[2], 10s);
    ++tenths.at(static_cast<size_t>((world.probes[3] - kStart) % 10s / 1s));
  }
  EXPECT_THAT(tenths, testing::Each(Gt(50))) << "of a thousand agents that start together";
}

TEST(Check, AShortPeriodIsNotStretchedByTheFirstWait) {
  World world({.period = 100ms});

  world.run(kStart + 10s, always(kCheckWell));

  EXPECT_LT(world.probes[0], kStart + 100ms);
}

TEST(Check, ThreeFailuresInARowMakeItUnhealthyAndOneSuccessHealthy) {
  World world({.period = 10s}, {.healthy = true});

  world.run(kStart + 200s, sick_between(kStart + 50s, kStart + 120s));

  ASSERT_EQ(world.turned.size(), 2u);
  EXPECT_GE(world.turned[0], kStart + 70s) << "the third failure";
  EXPECT_LT(world.turned[0], kStart + 81s);
  EXPECT_LT(world.turned[1], kStart + 131s) << "the first success";
  EXPECT_EQ(world.check().stats().turned, 2u);
  EXPECT_TRUE(world.check().verdict().healthy);
}

TEST(Check, FailuresThatASuccessInterruptsAreNoRun) {
  World world({}, {.healthy = true});
  int count = 0;

  world.run(kStart + 1h, [&](Time) { return ++count % 3 == 0 ? kCheckWell : kCheckSick; });

  EXPECT_THAT(world.turned, IsEmpty());
  EXPECT_TRUE(world.check().verdict().healthy);
  EXPECT_THAT(world.check().stats().failed, Gt(400u));
}

TEST(Check, SuccessesCountFromAnewAfterAFailure) {
  World world({.success_threshold = 3});
  int count = 0;

  world.run(kStart + 1h, [&](Time) { return ++count % 3 == 0 ? kCheckSick : kCheckWell; });
  EXPECT_THAT(world.turned, IsEmpty());

  world.run(kStart + 2h, always(kCheckWell));
  EXPECT_EQ(world.turned.size(), 1u);
}

TEST(Check, WhyIsTheLastFailuresReason) {
  World world({}, {.healthy = true});
  int count = 0;

  world.run(kStart + 16s,
            [&](Time) { return Outcome{.reason = "failure " + std::to_string(++count)}; });

  EXPECT_EQ(world.check().verdict().reason, "failure 3");
}

TEST(Check, AServiceThatWasNeverWellSaysWhyAtItsFirstFailure) {
  World world({});

  world.run(kStart + 1s, always(kCheckSick));

  EXPECT_EQ(world.check().verdict(), (Verdict{.healthy = false, .reason = "HTTP 500"}));
  EXPECT_EQ(world.explained.size(), 1u);
  EXPECT_THAT(world.turned, IsEmpty());
}

TEST(Check, AReasonThatIsNewEachTimeIsPassedOnOnlyNowAndThen) {
  World world({.period = 1s});
  int count = 0;

  world.run(kStart + 100s, [&](Time) { return Outcome{.reason = std::to_string(++count)}; });

  EXPECT_GE(world.explained.size(), 8u);
  EXPECT_LE(world.explained.size(), 10u);
}

TEST(Check, AReasonThatStaysIsNoChange) {
  World world({.period = 1s});

  world.run(kStart + 1h, always(kCheckSick));

  EXPECT_EQ(world.explained.size(), 1u);
}

TEST(Check, AnErrorIsTriedThreeTimesAndThenThrownAway) {
  World world({}, {.healthy = true});

  world.run(kStart + 1h, always(kError));

  EXPECT_THAT(world.turned, IsEmpty());
  EXPECT_THAT(world.explained, IsEmpty());
  EXPECT_EQ(world.repeats, 2 * static_cast<int>(world.probes.size()));
  EXPECT_EQ(world.check().stats().thrown_away, world.probes.size());
  EXPECT_EQ(world.check().stats().failed, 0u);
}

TEST(Check, AnErrorBetweenFailuresDoesNotEndTheirRun) {
  World world({}, {.healthy = true});
  int count = 0;

  // Failure, failure, three errors, failure.
  world.run(kStart + 21s, [&](Time) {
    ++count;
    return count >= 3 && count <= 5 ? kError : kCheckSick;
  });

  EXPECT_EQ(world.turned.size(), 1u);
  EXPECT_EQ(world.check().stats().failed, world.probes.size() - 1);
}

TEST(Check, ATryThatSucceedsAfterAnErrorCounts) {
  World world({});
  int count = 0;

  world.run(kStart + 1s, [&](Time) { return ++count < 3 ? kError : kCheckWell; });

  EXPECT_EQ(world.turned.size(), 1u);
  EXPECT_EQ(world.check().stats().thrown_away, 0u);
}

TEST(Check, AServiceThatCannotBeProbedAtAllSaysSo) {
  World world({});

  world.run(kStart + 1s, always(kError));

  EXPECT_EQ(world.check().verdict().reason, "not checked yet: the body was cut short");
}

TEST(Check, AProbeThatOutlastsThePeriodIsFollowedByTheNextAtOnceAndNeverByTwo) {
  World world({.period = 1s});

  world.run(kStart + 60s, always(kCheckWell), 3s);

  for (size_t i = 3; i < world.probes.size(); ++i) {
    EXPECT_EQ(world.probes[i] - world.probes[i - 1], 3s);
  }
}

TEST(Check, TheSameSeedGivesTheSameRun) {
  World one({}, not_checked_yet(), 7);
  World two({}, not_checked_yet(), 7);
  World other({}, not_checked_yet(), 8);
  for (World* world : {&one, &two, &other}) world->run(kStart + 60s, always(kCheckWell));

  EXPECT_EQ(one.probes, two.probes);
  EXPECT_NE(one.probes, other.probes);
}

// Whatever the application does, the verdict is what the thresholds say of the outcomes.
TEST(Check, RandomApplicationsAreJudgedAsTheThresholdsSay) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Rng rng(seed);
    const CheckTimes times{.period = 1s,
                           .failure_threshold = static_cast<uint32_t>(1 + rng.below(uint64_t{5})),
                           .success_threshold = static_cast<uint32_t>(1 + rng.below(uint64_t{5}))};
    World world(times, {.healthy = rng.below(uint64_t{2}) == 0}, seed);
    bool expected = world.check().verdict().healthy;
    uint32_t wells = 0;
    uint32_t sicks = 0;
    for (int i = 0; i < 300; ++i) {
      const bool well = rng.below(uint64_t{2}) == 0;
      wells = well ? wells + 1 : 0;
      sicks = well ? 0 : sicks + 1;
      if (wells >= times.success_threshold) expected = true;
      if (sicks >= times.failure_threshold) expected = false;
      world.run(*world.check().next_deadline() + 1ns, always(well ? kCheckWell : kCheckSick));
      ASSERT_EQ(world.check().verdict().healthy, expected) << "seed " << seed << ", " << i;
    }
  }
}

}  // namespace
}  // namespace holdfast::probe

#include "health/health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "base/reason.h"
#include "base/rng.h"

namespace holdfast::health {
namespace {

using namespace std::chrono_literals;

constexpr Duration kWindow = 10s;
const std::string kName = "store";

Time health_at(Duration elapsed) {
  return Time(elapsed);
}
Status hung() {
  return coded(absl::StatusCode::kUnavailable, "HF1101", "the store does not answer");
}
State state_of(const Health& health, const std::string& name = kName) {
  for (const Component& component : health.components()) {
    if (component.name == name) return component.state;
  }
  ADD_FAILURE() << "no component " << name;
  return State::Starting;
}

// A component brought into a state at time 0.
Health in(State state) {
  Health health({.recovery_window = kWindow});
  health.expect(kName, health_at(-100s));
  if (state == State::Ok) health.report_ok(kName, health_at(0s));
  if (state == State::Degraded) health.report_error(kName, hung(), health_at(0s));
  if (state == State::Recovering) {
    health.report_error(kName, hung(), health_at(-1s));
    health.report_ok(kName, health_at(0s));
  }
  return health;
}

struct Cell {
  State from;
  bool ok;  // what is reported, else an error
  Duration after;
  State to;
};

TEST(Health, EveryCellOfTheTransitionTable) {
  const Cell cells[] = {
      {State::Starting, true, 0s, State::Ok},
      {State::Starting, true, 1h, State::Ok},
      {State::Starting, false, 0s, State::Degraded},
      {State::Starting, false, 1h, State::Degraded},
      {State::Ok, true, 0s, State::Ok},
      {State::Ok, true, 1h, State::Ok},
      {State::Ok, false, 0s, State::Degraded},
      {State::Ok, false, 1h, State::Degraded},
      {State::Degraded, true, 0s, State::Recovering},
      {State::Degraded, true, 1h, State::Recovering},
      {State::Degraded, false, 0s, State::Degraded},
      {State::Degraded, false, 1h, State::Degraded},
      {State::Recovering, true, 0s, State::Recovering},
      {State::Recovering, true, kWindow, State::Recovering},
      {State::Recovering, true, kWindow + 1ns, State::Ok},
      {State::Recovering, false, 0s, State::Degraded},
      {State::Recovering, false, kWindow + 1ns, State::Degraded},
  };
  for (const Cell& cell : cells) {
    Health health = in(cell.from);
    ASSERT_EQ(state_of(health), cell.from);
    const uint64_t version = health.version();

    if (cell.ok) health.report_ok(kName, health_at(cell.after));
    if (!cell.ok) health.report_error(kName, hung(), health_at(cell.after));

    EXPECT_EQ(state_of(health), cell.to) << to_string(cell.from) << " ok=" << cell.ok;
    EXPECT_EQ(health.version() != version, cell.from != cell.to) << to_string(cell.from);
    const Time since = health.components().front().since;
    if (cell.from != cell.to) EXPECT_EQ(since, health_at(cell.after)) << to_string(cell.from);
    if (cell.from == cell.to) EXPECT_LE(since, health_at(0s)) << to_string(cell.from);
  }
}

TEST(Health, AnErrorWhileRecoveringStartsTheRecoveryAgain) {
  Health health = in(State::Recovering);
  health.report_error(kName, hung(), health_at(9s));
  health.report_ok(kName, health_at(9s));

  health.report_ok(kName, health_at(19s));
  EXPECT_EQ(state_of(health), State::Recovering);

  health.report_ok(kName, health_at(19s + 1ns));
  EXPECT_EQ(state_of(health), State::Ok);
}

TEST(Health, TimeAloneHealsNothing) {
  const Health health = in(State::Recovering);

  EXPECT_EQ(health.state(), State::Recovering) << "only a report after the window does";
}

TEST(Health, SaysWhyFromTheErrorUntilItIsOkAgain) {
  Health health = in(State::Degraded);
  EXPECT_EQ(health.components().front().code, "HF1101");
  EXPECT_EQ(health.components().front().reason, "the store does not answer");

  health.report_error(kName, absl::InternalError("another"), health_at(1s));
  EXPECT_EQ(health.components().front().code, "") << "the latest error counts";
  EXPECT_EQ(health.components().front().reason, "another");

  health.report_ok(kName, health_at(2s));
  EXPECT_EQ(health.components().front().reason, "another");

  health.report_ok(kName, health_at(13s));
  EXPECT_EQ(health.components().front().reason, "");
}

TEST(Health, TheProcessIsAsItsWorstComponent) {
  const State kStates[] = {State::Ok, State::Recovering, State::Degraded, State::Starting};
  const auto bring = [](Health& health, const std::string& name, State state) {
    health.expect(name, health_at(0s));
    if (state == State::Ok) health.report_ok(name, health_at(0s));
    if (state == State::Degraded || state == State::Recovering) {
      health.report_error(name, hung(), health_at(0s));
    }
    if (state == State::Recovering) health.report_ok(name, health_at(0s));
  };
  for (const State a : kStates) {
    for (const State b : kStates) {
      Health health({});
      bring(health, "a", a);
      bring(health, "b", b);

      const auto has = [&](State state) { return a == state || b == state; };
      const State expected = has(State::Degraded)     ? State::Degraded
                             : has(State::Recovering) ? State::Recovering
                             : has(State::Starting)   ? State::Starting
                                                      : State::Ok;
      EXPECT_EQ(health.state(), expected) << to_string(a) << " and " << to_string(b);
    }
  }
}

TEST(Health, WithoutComponentsItIsStarting) {
  Health health({});
  EXPECT_EQ(health.state(), State::Starting);

  health.report_ok(kName, health_at(0s));
  EXPECT_EQ(health.state(), State::Ok) << "nobody has to be expected before it reports";

  health.forget(kName);
  EXPECT_EQ(health.state(), State::Starting);
}

TEST(Health, ForgettingADegradedComponentLeavesTheOthers) {
  Health health = in(State::Degraded);
  health.report_ok("api", health_at(0s));
  const uint64_t version = health.version();

  health.forget("nobody");
  EXPECT_EQ(health.version(), version);
  health.forget(kName);

  EXPECT_EQ(health.state(), State::Ok);
  EXPECT_NE(health.version(), version);
}

TEST(Health, ExpectingAgainChangesNothing) {
  Health health = in(State::Ok);
  const uint64_t version = health.version();

  health.expect(kName, health_at(1h));

  EXPECT_EQ(health.state(), State::Ok);
  EXPECT_EQ(health.version(), version);
}

TEST(Health, ComponentsComeByName) {
  Health health({});
  for (const char* name : {"web", "api", "store"}) health.expect(name, health_at(0s));

  std::vector<std::string> names;
  for (const Component& component : health.components()) names.push_back(component.name);

  EXPECT_THAT(names, testing::ElementsAre("api", "store", "web"));
}

// The rules as the documents put them, told from the whole history instead of a state.
State by_history(const std::vector<std::pair<Duration, bool>>& reports) {
  std::optional<Duration> recovering_since;
  State state = State::Starting;
  for (const auto& [when, ok] : reports) {
    if (!ok) {
      state = State::Degraded;
      recovering_since.reset();
    } else if (state != State::Degraded && !recovering_since) {
      state = State::Ok;
    } else if (!recovering_since) {
      recovering_since = when;
      state = State::Recovering;
    } else if (when - *recovering_since > kWindow) {
      recovering_since.reset();
      state = State::Ok;
    }
  }
  return state;
}

TEST(Health, HoldsItsRulesOverRandomHistories) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    Rng rng(seed);
    Health health({.recovery_window = kWindow});
    health.expect(kName, health_at(0s));
    std::vector<std::pair<Duration, bool>> reports;
    Duration now = 0s;
    State before = State::Starting;
    for (int step = 0; step < 60; ++step) {
      now += rng.below(Duration(6s));
      const bool ok = rng.below(uint64_t{4}) != 0;
      reports.emplace_back(now, ok);
      const uint64_t version = health.version();
      if (ok) health.report_ok(kName, health_at(now));
      if (!ok) health.report_error(kName, hung(), health_at(now));

      ASSERT_EQ(health.state(), by_history(reports)) << "seed " << seed << " step " << step;
      ASSERT_EQ(health.version() != version, health.state() != before) << "seed " << seed;
      const bool jumped = before == State::Degraded && health.state() == State::Ok;
      ASSERT_FALSE(jumped) << "seed " << seed << ": ok without recovering";
      before = health.state();
    }
  }
}

TEST(Health, AWarningShowsAndSendsNobodyAway) {
  Health health({});
  const Status why = coded(absl::StatusCode::kFailedPrecondition, "HF6001", "the file is wrong");
  health.report_ok("store", Time());

  health.report_warning("configuration", why, Time());

  EXPECT_EQ(health.state(), State::Ok);
  EXPECT_EQ(health.components().front().code, "HF6001");
  EXPECT_EQ(health.components().front().reason, "the file is wrong");
}

}  // namespace
}  // namespace holdfast::health

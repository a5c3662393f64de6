// Every order of everything that can happen, within bounds.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include "ha/model_search.h"

namespace holdfast::ha::model {
namespace {

struct Timed {
  Found found;
  double seconds;
};

Timed timed(const Options& options, const Limits& limits) {
  const auto begin = std::chrono::steady_clock::now();
  Found found = search(options, limits);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return {.found = std::move(found), .seconds = took.count()};
}

std::string way(const Found& found) {
  return found.wrong + "\n" + fmt::format("{}", fmt::join(found.steps, "\n"));
}

uint64_t number_from(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

void print(std::string_view name, const Timed& timed) {
  fmt::print("{}: {} states, {} transitions, {} steps deep, {:.1f} s{}\n", name, timed.found.states,
             timed.found.transitions, timed.found.depth, timed.seconds,
             timed.found.complete ? ", all there are within the bounds" : "");
}

TEST(Explore, Ad) {
  Options o;
  o.mode = static_cast<Mode>(number_from("M_MODE", 2));
  o.steady = number_from("M_STEADY", 1);
  o.max_epoch = number_from("M_EPOCH", 8);
  o.writes = number_from("M_WRITES", 2);
  o.crashes = number_from("M_CRASHES", 1);
  o.wipes = number_from("M_WIPES", 0);
  o.switches = number_from("M_SWITCHES", 0);
  o.repeats = number_from("M_REPEATS", 0);
  o.in_flight = number_from("M_FLIGHT", 3);
  o.bug = static_cast<Bug>(number_from("M_BUG", 0));
  const Timed t = timed(
      o, {.max_states = number_from("M_STATES", 4'000'000), .heal = number_from("M_HEAL", 1) != 0});
  print(to_string(o.bug), t);
  EXPECT_EQ(t.found.wrong, "") << way(t.found);
}

}  // namespace
}  // namespace holdfast::ha::model

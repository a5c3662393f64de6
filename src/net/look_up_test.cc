#include "net/look_up.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include <functional>

#include "net/task_group.h"

namespace holdfast::net {
namespace {

using namespace std::chrono_literals;

asio::awaitable<void> look_up_into(std::string address, Duration timeout,
                                   std::vector<Status>& outcomes) {
  const auto found = co_await look_up(std::move(address), timeout);
  outcomes.push_back(found.status());
}

// The outcomes of that many look-ups at once, in the order in which they ended.
std::vector<Status> look_up_all(int count, Duration timeout,
                                const std::function<std::string(int)>& name) {
  asio::io_context loop;
  TaskGroup tasks(loop.get_executor());
  std::vector<Status> outcomes;
  for (int i = 0; i < count; ++i) tasks.spawn(look_up_into(name(i), timeout, outcomes));
  while (outcomes.size() < static_cast<size_t>(count) && loop.run_one_for(20s) > 0) {
  }
  loop.poll();
  return outcomes;
}

auto refusals(const std::vector<Status>& outcomes) {
  return std::ranges::count_if(outcomes, absl::IsResourceExhausted);
}

TEST(LookUp, OnlySoManyNamesAreLookedUpAtOnce) {
  const auto outcomes =
      look_up_all(300, 1ms, [](int i) { return "name-" + std::to_string(i) + ".invalid:80"; });
  EXPECT_EQ(outcomes.size(), 300U);
  EXPECT_EQ(refusals(outcomes), 300 - 256);
}

TEST(LookUp, WhoAsksForTheSameNameSharesTheAnswer) {
  const auto outcomes = look_up_all(2'000, 20s, [](int) { return "localhost:80"; });
  EXPECT_EQ(outcomes.size(), 2'000U);
  EXPECT_EQ(std::ranges::count_if(outcomes, [](const Status& one) { return one.ok(); }), 2'000);
}

TEST(LookUp, WhatNobodyWaitsForMakesRoom) {
  asio::io_context loop;
  TaskGroup tasks(loop.get_executor());
  std::vector<Status> outcomes;
  for (int round = 1; round <= 3; ++round) {
    for (int i = 0; i < 200; ++i) {
      tasks.spawn(
          look_up_into("name-" + std::to_string(i + round * 1'000) + ".invalid:80", 0ms, outcomes));
    }
    const auto all = static_cast<size_t>(round) * 200;
    while (outcomes.size() < all && loop.run_one_for(20s) > 0) {
    }
  }
  loop.poll();
  EXPECT_EQ(outcomes.size(), 600U);
  EXPECT_EQ(refusals(outcomes), 0);
}

}  // namespace
}  // namespace holdfast::net

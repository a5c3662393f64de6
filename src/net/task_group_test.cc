#include "net/task_group.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>

namespace holdfast::net {
namespace {

using namespace std::chrono_literals;

TEST(TaskGroup, JoinCancelsWhatWaitsAndOutlivesIt) {
  asio::io_context loop;
  TaskGroup tasks(loop.get_executor());
  int cancelled = 0;
  const auto wait = [&]() -> asio::awaitable<void> {
    const bool slept = co_await pause(1h);
    if (!slept) cancelled += 1;
  };
  const auto main = [&]() -> asio::awaitable<void> {
    for (int i = 0; i < 3; ++i) tasks.spawn(wait());
    co_await pause(0s);
    co_await tasks.join();
  };

  asio::co_spawn(loop, main(), asio::detached);
  loop.run();

  EXPECT_EQ(cancelled, 3);
  EXPECT_EQ(tasks.size(), 0u);
}

TEST(TaskGroup, OneTaskMayBeEndedAlone) {
  asio::io_context loop;
  TaskGroup tasks(loop.get_executor());
  std::vector<int> ended;
  asio::cancellation_signal* second = nullptr;
  const auto wait = [&](int number) -> asio::awaitable<void> {
    static_cast<void>(co_await pause(1h));
    ended.push_back(number);
  };
  const auto main = [&]() -> asio::awaitable<void> {
    tasks.spawn(wait(1));
    tasks.spawn_ending([&](asio::cancellation_signal& ends) {
      second = &ends;
      return wait(2);
    });
    co_await pause(0s);
    second->emit(asio::cancellation_type::terminal);
    while (tasks.size() > 1) co_await pause(0s);
    co_await tasks.join();
  };

  asio::co_spawn(loop, main(), asio::detached);
  loop.run();

  EXPECT_EQ(ended, (std::vector<int>{2, 1}));
}

TEST(TaskGroup, ACancelledTaskMayWaitAgainWithoutBeingThrownOut) {
  asio::io_context loop;
  TaskGroup tasks(loop.get_executor());
  std::vector<bool> slept;
  const auto wait_twice = [&]() -> asio::awaitable<void> {
    slept.push_back(co_await pause(1h));
    slept.push_back(co_await pause(1h));
  };
  const auto main = [&]() -> asio::awaitable<void> {
    tasks.spawn(wait_twice());
    co_await pause(0s);
    co_await tasks.join();
  };

  asio::co_spawn(loop, main(), asio::detached);
  loop.run();

  EXPECT_EQ(slept, (std::vector<bool>{false, false}));
}

TEST(TaskGroup, FinishedTasksLeaveTheGroup) {
  asio::io_context loop;
  TaskGroup tasks(loop.get_executor());
  const auto nothing = []() -> asio::awaitable<void> { co_return; };

  for (int i = 0; i < 100; ++i) tasks.spawn(nothing());
  loop.run();

  EXPECT_EQ(tasks.size(), 0u);
}

}  // namespace
}  // namespace holdfast::net

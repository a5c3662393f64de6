// A loop that the test itself runs, until what it waits for is so.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <chrono>
#include <functional>
#include <future>
#include <utility>

#include "base/clock.h"

namespace holdfast::test {

namespace asio = boost::asio;

class LoopDriver {
 public:
  static constexpr Duration kPatience = std::chrono::seconds(20);

  asio::io_context& loop() { return loop_; }

  // True as soon as it is so.
  bool until(const std::function<bool()>& so, Duration patience = kPatience) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (!so()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      loop_.restart();
      loop_.run_one_for(std::chrono::milliseconds(5));
    }
    return true;
  }
  // Lets the loop run, for what must not happen meanwhile.
  void run_for(Duration duration) {
    until([] { return false; }, duration);
  }
  // Runs it to its end.
  template <typename T>
  T wait(asio::awaitable<T> task) {
    std::future<T> done = asio::co_spawn(loop_, std::move(task), asio::use_future);
    until([&] { return done.wait_for(std::chrono::seconds(0)) == std::future_status::ready; },
          std::chrono::minutes(2));
    return done.get();
  }

 private:
  asio::io_context loop_;
};

}  // namespace holdfast::test

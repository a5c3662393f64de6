// Owns coroutines: whoever spawns them here waits for them here. The only place, with rpc/, where a
// coroutine is started without being awaited.
//
//   TaskGroup tasks(executor);
//   tasks.spawn(serve(connection));
//   co_await tasks.join();   // cancels what still runs and waits for its end
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>

#include <list>

namespace holdfast::net {

namespace asio = boost::asio;

class TaskGroup {
 public:
  explicit TaskGroup(const asio::any_io_executor& executor);
  // Requires: join() has completed, or nothing was spawned.
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  void spawn(asio::awaitable<void> task);
  // Asks every task to end (terminal cancellation) and waits until all have. A task that goes on to
  // another co_await is ended there by asio, its own code is not told.
  asio::awaitable<void> join();
  size_t size() const { return running_.size(); }

 private:
  asio::any_io_executor executor_;
  std::list<asio::cancellation_signal> running_;
  bool joining_ = false;
  asio::steady_timer empty_;
};

// Waits; false if it was cancelled.
asio::awaitable<bool> pause(std::chrono::nanoseconds duration);

}  // namespace holdfast::net

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

#include <functional>
#include <list>

namespace holdfast::net {

namespace asio = boost::asio;

// Cancellation as a value: by default Asio throws from whatever a cancelled coroutine awaits next.
// In `task` the wait ends with an error instead, and pause() answers false from then on.
asio::awaitable<void> without_throwing(asio::awaitable<void> task);

class TaskGroup {
 public:
  explicit TaskGroup(const asio::any_io_executor& executor);
  // Requires: join() has completed, or nothing was spawned.
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  void spawn(asio::awaitable<void> task);
  // The same for a task that may be ended alone, with the signal that `make` is given. It is there
  // as long as the task runs; the task itself does not use it.
  using Make = std::function<asio::awaitable<void>(asio::cancellation_signal&)>;
  void spawn_ending(const Make& make);
  // Asks every task to end (terminal cancellation) and waits until all have.
  asio::awaitable<void> join();
  size_t size() const { return running_.size(); }

 private:
  using Signals = std::list<asio::cancellation_signal>;
  void start(Signals::iterator signal, asio::awaitable<void> task);

  asio::any_io_executor executor_;
  Signals running_;
  asio::steady_timer empty_;
};

// Waits; false if it was cancelled, then or before.
asio::awaitable<bool> pause(std::chrono::nanoseconds duration);

}  // namespace holdfast::net

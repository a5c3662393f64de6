#include "net/task_group.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>
#include <exception>

#include "base/check.h"

namespace holdfast::net {
namespace {

// What asio's co_await throws in a coroutine that was cancelled.
bool is_cancellation(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const boost::system::system_error& error) {
    return error.code() == asio::error::operation_aborted;
  } catch (...) {
    return false;
  }
}

}  // namespace

TaskGroup::TaskGroup(const asio::any_io_executor& executor)
    : executor_(executor), empty_(executor, asio::steady_timer::time_point::max()) {}

TaskGroup::~TaskGroup() {
  HF_CHECK(running_.empty(), "a task group is joined before it dies");
}

void TaskGroup::spawn(asio::awaitable<void> task) {
  const auto signal = running_.emplace(running_.end());
  const auto finished = [this, signal](const std::exception_ptr& thrown) {
    HF_CHECK(thrown == nullptr || (joining_ && is_cancellation(thrown)),
             "a task returns its failures, it does not throw");
    // Later, because the signal is still in use while it reports the end.
    asio::post(executor_, [this, signal] {
      running_.erase(signal);
      if (running_.empty()) empty_.cancel();
    });
  };
  asio::co_spawn(executor_, std::move(task),
                 asio::bind_cancellation_slot(signal->slot(), finished));
}

asio::awaitable<void> TaskGroup::join() {
  joining_ = true;
  for (asio::cancellation_signal& signal : running_) {
    signal.emit(asio::cancellation_type::terminal);
  }
  while (!running_.empty()) co_await empty_.async_wait(asio::as_tuple(asio::use_awaitable));
  joining_ = false;
}

asio::awaitable<bool> pause(std::chrono::nanoseconds duration) {
  asio::steady_timer timer(co_await asio::this_coro::executor, duration);
  const auto [error] = co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  co_return !error;
}

}  // namespace holdfast::net

// A deadline for a coroutine: what it waits for is cancelled when the time is over.
//
//   const Result<size_t> count = co_await within(2s, stream.read_some(into));
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/this_coro.hpp>

#include <utility>
#include <variant>

#include "base/clock.h"
#include "net/task_group.h"

namespace holdfast::net {

// A cancelled part of a pair ends by the errors of what it waits for, not by an exception.
template <typename T>
asio::awaitable<T> ending_by_value(asio::awaitable<T> task) {
  co_await asio::this_coro::throw_if_cancelled(false);
  co_return co_await std::move(task);
}

// Whether this coroutine was asked to end. What it starts to wait for afterwards would not know.
inline asio::awaitable<bool> is_cancelled() {
  const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
  co_return state.cancelled() != asio::cancellation_type::none;
}

// What the task returned, or `late` if that took too long (or the caller was cancelled) and the
// task has ended since. T is a Status or a Result.
template <typename T>
asio::awaitable<T> within(Duration limit, asio::awaitable<T> task, Status late) {
  using namespace asio::experimental::awaitable_operators;
  std::variant<T, bool> first =
      co_await (ending_by_value(std::move(task)) || ending_by_value(pause(limit)));
  if (first.index() == 0) co_return std::get<0>(std::move(first));
  co_return late;
}

}  // namespace holdfast::net

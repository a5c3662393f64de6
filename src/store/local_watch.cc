#include "store/local_watch.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace holdfast::store {

Signal::Signal(const asio::any_io_executor& executor)
    : timer_(executor, asio::steady_timer::time_point::max()) {}

asio::awaitable<void> Signal::wait() {
  co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
}

asio::awaitable<Result<ChangeSlice>> LocalWatch::read() {
  CO_TRY(ChangeSlice slice, co_await source_.read_changes(range_, after_));
  if (source_.generation() == generation_) co_return slice;
  co_return absl::OutOfRangeError("another history took the place of the one that was watched");
}

asio::awaitable<Status> LocalWatch::check() {
  co_return (co_await read()).status();
}

asio::awaitable<Result<std::vector<Change>>> LocalWatch::next() {
  while (!closed_) {
    CO_TRY(ChangeSlice slice, co_await read());
    if (closed_) break;
    const bool at_the_end = slice.through == after_;
    after_ = slice.through;
    if (!slice.changes.empty()) co_return std::move(slice.changes);
    if (at_the_end) co_await source_.changed().wait();
  }
  co_return absl::CancelledError("the watch was closed");
}

void LocalWatch::close() {
  closed_ = true;
  source_.changed().notify_all();
}

}  // namespace holdfast::store

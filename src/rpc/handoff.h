// A value handed from a gRPC thread to a coroutine: the one place where the two meet.
//
//   gRPC thread: deliver(value) ──► mutex ──► post to the executor ──► coroutine: take()
//
// The coroutine waits on a timer that never fires, so that the wait counts as work of its executor,
// follows cancellation, and is destroyed with the executor like any other wait.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace holdfast::rpc {

namespace asio = boost::asio;

// The coroutine's end, owned by it and used only on its executor (single-threaded, or a strand).
// One value at a time: deliver() is not called again before the last value was taken.
template <typename T>
class Handoff {
 public:
  // The gRPC thread's end, shared because either side may be gone first; after the Handoff is
  // destroyed, deliver() drops its value and touches no executor.
  class Sender {
   public:
    void deliver(T value) const {
      const std::lock_guard lock(shared_->mutex);
      if (shared_->timer == nullptr) return;
      shared_->value.emplace(std::move(value));
      asio::post(shared_->timer->get_executor(), [shared = shared_] {
        const std::lock_guard wake_lock(shared->mutex);
        if (shared->timer != nullptr && shared->value) shared->timer->cancel();
      });
    }

   private:
    friend class Handoff;
    struct Shared {
      std::mutex mutex;
      std::optional<T> value;
      asio::steady_timer* timer = nullptr;  // null once the coroutine's end is gone
    };
    std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();  // tidy: shared by two threads
  };

  explicit Handoff(asio::any_io_executor executor)
      : timer_(std::move(executor), asio::steady_timer::time_point::max()) {
    sender_.shared_->timer = &timer_;
  }
  ~Handoff() {
    const std::lock_guard lock(sender_.shared_->mutex);
    sender_.shared_->timer = nullptr;
  }
  Handoff(const Handoff&) = delete;
  Handoff& operator=(const Handoff&) = delete;

  const Sender& sender() const { return sender_; }

  // The delivered value; nothing if the wait was cancelled before one came. One take() at a time.
  asio::awaitable<std::optional<T>> take() {
    for (;;) {
      if (auto value = take_now()) co_return value;
      // A cancellation that came before this wait would not end it.
      const auto before = co_await asio::this_coro::cancellation_state;
      if (before.cancelled() != asio::cancellation_type::none) co_return std::nullopt;
      co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
      auto value = take_now();
      const auto state = co_await asio::this_coro::cancellation_state;
      if (value || state.cancelled() != asio::cancellation_type::none) co_return value;
    }
  }

 private:
  std::optional<T> take_now() {
    const std::lock_guard lock(sender_.shared_->mutex);
    return std::exchange(sender_.shared_->value, std::nullopt);
  }

  asio::steady_timer timer_;
  Sender sender_;
};

}  // namespace holdfast::rpc

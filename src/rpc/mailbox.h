// Values handed from gRPC threads to one coroutine, as many as come: a Handoff for several calls at
// once. The coroutine may also be woken by something on its own executor.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace holdfast::rpc {

namespace asio = boost::asio;

// The coroutine's end, owned by it and used only on its executor (single-threaded, or a strand).
template <typename T>
class Mailbox {
 public:
  // The gRPC threads' end. After the Mailbox is destroyed, deliver() drops its value.
  class Sender {
   public:
    void deliver(T value) const {
      const std::lock_guard lock(shared_->mutex);
      if (shared_->timer == nullptr) return;
      shared_->values.push_back(std::move(value));
      asio::post(shared_->timer->get_executor(), [shared = shared_] {
        const std::lock_guard wake_lock(shared->mutex);
        if (shared->timer != nullptr) shared->timer->cancel();
      });
    }

   private:
    friend class Mailbox;
    struct Shared {
      std::mutex mutex;
      std::vector<T> values;
      asio::steady_timer* timer = nullptr;  // null once the coroutine's end is gone
    };
    std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();  // tidy: shared by threads
  };

  explicit Mailbox(asio::any_io_executor executor) : timer_(std::move(executor)) {
    sender_.shared_->timer = &timer_;
  }
  ~Mailbox() {
    const std::lock_guard lock(sender_.shared_->mutex);
    sender_.shared_->timer = nullptr;
  }
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  const Sender& sender() const { return sender_; }
  // Cancelled by whoever else wants to wake the coroutine.
  asio::steady_timer& timer() { return timer_; }

  std::vector<T> take_now() {
    const std::lock_guard lock(sender_.shared_->mutex);
    return std::exchange(sender_.shared_->values, {});
  }

  // Returns when something came, the time is over, it was woken, or the coroutine cancelled.
  asio::awaitable<void> wait(Duration at_most) {
    if (!is_empty()) co_return;
    timer_.expires_after(std::chrono::duration_cast<asio::steady_timer::duration>(at_most));
    co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
  }

 private:
  bool is_empty() {
    const std::lock_guard lock(sender_.shared_->mutex);
    return sender_.shared_->values.empty();
  }

  asio::steady_timer timer_;
  Sender sender_;
};

}  // namespace holdfast::rpc

// Waits with a Memo: whoever asks first starts the load, all who ask meanwhile wait for it. The
// load belongs to the service, so it goes on when an asker gives up.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/clock.h"
#include "cache/memo.h"
#include "net/task_group.h"

namespace holdfast::cache {

namespace asio = boost::asio;

template <typename Value>
struct Loaded {
  Value value;
  size_t bytes = 0;  // of memory, about
};

// Belongs to one executor.
template <typename Value>
class MemoService {
 public:
  using Load = std::function<asio::awaitable<Loaded<Value>>()>;
  using Answer = std::shared_ptr<const Value>;

  MemoService(const asio::any_io_executor& loop, const Clock& clock, MemoOptions options)
      : clock_(clock), memo_(options), loads_(loop) {}

  // Null if it was closed, or `patience` was over, before there was an answer.
  asio::awaitable<Answer> ask(std::string key, Load load, Duration patience) {
    if (closed_) co_return nullptr;
    const typename Memo<Value>::Answer now = memo_.ask(key, clock_.now());
    if (const auto* known = std::get_if<typename Memo<Value>::Known>(&now)) {
      co_return known->result;
    }
    Waiter waiter{.done = asio::steady_timer(co_await asio::this_coro::executor, patience),
                  .result = nullptr};
    const auto* mine = std::get_if<typename Memo<Value>::Load>(&now);
    const uint64_t ticket =
        mine != nullptr ? mine->ticket : std::get<typename Memo<Value>::Join>(now).ticket;
    const auto place = waiting_.emplace(ticket, &waiter);
    // It may have its answer before this returns.
    if (mine != nullptr) loads_.spawn(run(ticket, std::move(load)));
    if (!waiter.answered) co_await waiter.done.async_wait(asio::as_tuple(asio::use_awaitable));
    if (!waiter.answered) waiting_.erase(place);
    co_return std::move(waiter.result);
  }

  // Forgets what is old; call it now and then.
  void tidy_up() { memo_.on_tick(clock_.now()); }
  // Whoever waits is answered with nothing, and so are later askers.
  void close() {
    closed_ = true;
    for (const auto& [ticket, waiter] : waiting_) {
      waiter->answered = true;
      waiter->done.cancel();
    }
    waiting_.clear();
  }
  // Ends what is still being loaded. Requires: close() before.
  asio::awaitable<void> join() { return loads_.join(); }

  const MemoStats& stats() const { return memo_.stats(); }

 private:
  // On the stack of who asks.
  struct Waiter {
    asio::steady_timer done;
    Answer result;
    bool answered = false;  // and no longer in waiting_
  };

  asio::awaitable<void> run(uint64_t ticket, Load load) {
    Loaded<Value> loaded = co_await load();
    const auto result = std::make_shared<const Value>(std::move(loaded.value));
    memo_.finish(ticket, result, loaded.bytes, clock_.now());
    const auto [first, last] = waiting_.equal_range(ticket);
    for (auto waiter = first; waiter != last; ++waiter) {
      waiter->second->result = result;
      waiter->second->answered = true;
      waiter->second->done.cancel();
    }
    waiting_.erase(first, last);
  }

  const Clock& clock_;
  Memo<Value> memo_;
  std::multimap<uint64_t, Waiter*> waiting_;
  bool closed_ = false;
  net::TaskGroup loads_;
};

}  // namespace holdfast::cache

#include "cache/derived_service.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <variant>

#include "base/check.h"
#include "events/watch_request.h"

namespace holdfast::cache {

class DerivedService::Stream final : public EventStream {
 public:
  Stream(DerivedService& owner, events::WatcherId id)
      : owner_(&owner), id_(id), woken_(owner.loop_, asio::steady_timer::time_point::max()) {
    owner.streams_.emplace(id, this);
  }
  ~Stream() override { leave(); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  asio::awaitable<Result<v1::WatchResponse>> next() override {
    for (;;) {
      if (owner_ == nullptr) co_return ended_;
      events::Taken taken = owner_->fan_out_.take(id_);
      if (const auto* message = std::get_if<std::shared_ptr<const events::Message>>(&taken)) {
        v1::WatchResponse response;
        HF_CHECK(response.ParseFromString((*message)->bytes),
                 "the fan-out's messages are messages");
        co_return response;
      }
      if (const auto* closed = std::get_if<events::Closed>(&taken)) {
        end(closed->why);
        co_return ended_;
      }
      const asio::cancellation_state before = co_await asio::this_coro::cancellation_state;
      if (before.cancelled() == asio::cancellation_type::none) {
        co_await woken_.async_wait(asio::as_tuple(asio::use_awaitable));
      }
      const asio::cancellation_state after = co_await asio::this_coro::cancellation_state;
      if (after.cancelled() != asio::cancellation_type::none)
        end(absl::CancelledError("cancelled"));
    }
  }

  void close() override { end(absl::CancelledError("the stream was closed")); }
  void wake() { woken_.cancel(); }
  // Every next() ends with `why`; the watcher is gone from the fan-out.
  void end(Status why) {
    if (owner_ == nullptr) return;
    ended_ = std::move(why);
    leave();
    woken_.cancel();
  }

 private:
  void leave() {
    if (owner_ == nullptr) return;
    owner_->fan_out_.remove(id_);
    owner_->streams_.erase(id_);
    owner_ = nullptr;
  }

  DerivedService* owner_;  // null once it has ended
  events::WatcherId id_;
  asio::steady_timer woken_;
  Status ended_;
};

DerivedService::~DerivedService() {
  while (!streams_.empty()) {
    streams_.begin()->second->end(absl::CancelledError("the cache is gone"));
  }
}

Result<std::unique_ptr<EventStream>> DerivedService::open(const v1::WatchRequest& request) {
  TRY(const events::WatchRequest asked, events::from_proto(request, {}));
  TRY(const events::WatcherId id, fan_out_.add(asked));
  return std::make_unique<Stream>(*this, id);
}

void DerivedService::wake(const std::vector<events::WatcherId>& watchers) {
  for (const events::WatcherId id : watchers) {
    if (const auto found = streams_.find(id); found != streams_.end()) found->second->wake();
  }
}

}  // namespace holdfast::cache

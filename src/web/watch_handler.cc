#include "web/watch_handler.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>

#include "base/check.h"
#include "net/task_group.h"
#include "web/sse.h"

namespace holdfast::web {
namespace {

constexpr size_t kFormattedKept = 8;

}  // namespace

// Shared by the response that carries it: a response that is never sent still gives it back.
class WatchHandler::Watcher {
 public:
  Watcher(WatchHandler& owner, events::WatcherId id, api::Lawful lawful)
      : owner_(owner), id_(id), lawful_(std::move(lawful)), woken_(owner.loop_) {
    owner_.watchers_.emplace(id, this);
    owner_.count_.add(1);
  }
  ~Watcher() {
    owner_.fan_out_.remove(id_);
    owner_.watchers_.erase(id_);
    owner_.count_.add(-1);
  }
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  void wake() {
    due_ = true;
    woken_.cancel();
  }
  // True if woken, false if `patience` passed or the wait was cancelled.
  asio::awaitable<bool> wait(Duration patience) {
    if (!due_) {
      woken_.expires_after(patience);
      co_await woken_.async_wait(asio::as_tuple(asio::use_awaitable));
    }
    co_return std::exchange(due_, false);
  }
  events::WatcherId id() const { return id_; }
  // Why it has to end; OK if it has not.
  const Status& verdict() const { return verdict_; }
  void end(const Status& why) {
    if (verdict_.ok()) verdict_ = why;
    wake();
  }
  void judge(bool changed, WallTime now) {
    if (verdict_.ok()) verdict_ = lawful_.verdict(changed, now);
    if (!verdict_.ok()) wake();
  }

 private:
  WatchHandler& owner_;
  events::WatcherId id_;
  api::Lawful lawful_;
  Status verdict_;
  asio::steady_timer woken_;
  bool due_ = false;
};

WatchHandler::WatchHandler(const asio::any_io_executor& loop, events::FanOut& fan_out,
                           const Clock& clock, metrics::Registry& registry,
                           WatchHandlerOptions options)
    : loop_(loop),
      fan_out_(fan_out),
      clock_(clock),
      options_(options),
      count_(
          registry.gauge({.name = "holdfast_http_watchers", .help = "Watches over HTTP that run."})
              .with()),
      refused_(registry
                   .counter({.name = "holdfast_http_refused_watchers_total",
                             .help = "Watches over HTTP refused because there are too many."})
                   .with()) {}

WatchHandler::~WatchHandler() {
  HF_CHECK(watchers_.empty(), "watches end before their handler");
}

Result<net::HttpResponse> WatchHandler::open(const events::WatchRequest& request,
                                             api::Lawful lawful) {
  if (shut_down_) return *shut_down_;
  if (watchers_.size() >= options_.max_watchers) {
    refused_.add();
    return absl::ResourceExhaustedError("too many watches over HTTP; try again later");
  }
  TRY(const events::WatcherId id, fan_out_.add(request));
  const auto watcher = std::make_shared<Watcher>(*this, id, std::move(lawful));
  net::HttpResponse response;
  response.content_type = "text/event-stream";
  response.headers.emplace_back("Cache-Control", "no-store");
  response.stream = [this, watcher](net::HttpSink& sink) { return serve(*watcher, sink); };
  return response;
}

asio::awaitable<void> WatchHandler::serve(Watcher& watcher, net::HttpSink& sink) {
  const Status why = co_await send_due(watcher, sink);
  if (!absl::IsCancelled(why)) static_cast<void>(co_await sink.write(format_end(why)));
}

// Until there is a reason to end; kCancelled if there is nobody left to tell it.
asio::awaitable<Status> WatchHandler::send_due(Watcher& watcher, net::HttpSink& sink) {
  const Status gone = absl::CancelledError("the watcher is gone");
  for (;;) {
    if (shut_down_) co_return *shut_down_;
    watcher.judge(false, clock_.wall_now());
    if (!watcher.verdict().ok()) co_return watcher.verdict();
    const events::Taken taken = fan_out_.take(watcher.id());
    if (const auto* closed = std::get_if<events::Closed>(&taken)) co_return closed->why;
    const auto* message = std::get_if<std::shared_ptr<const events::Message>>(&taken);
    Text text;
    if (message != nullptr) text = text_of(*message);
    if (message == nullptr) {
      const bool woken = co_await watcher.wait(options_.keep_alive);
      if (woken) continue;
    }
    const Status written = co_await sink.write(text ? std::string_view(*text) : kSseKeepAlive);
    if (!written.ok()) co_return gone;
    const bool rested = message == nullptr || co_await net::pause(options_.rest);
    const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
    if (!rested || state.cancelled() != asio::cancellation_type::none) co_return gone;
  }
}

WatchHandler::Text WatchHandler::text_of(const std::shared_ptr<const events::Message>& message) {
  const auto found = std::ranges::find(formatted_, message, &Formatted::message);
  if (found != formatted_.end()) return found->text;
  v1::WatchResponse response;
  HF_CHECK(response.ParseFromString(message->bytes), "the fan-out's messages are readable");
  Text text = std::make_shared<const std::string>(format_events(response));
  formatted_.push_back({.message = message, .text = text});
  if (formatted_.size() > kFormattedKept) formatted_.pop_front();
  return text;
}

void WatchHandler::wake(const std::vector<events::WatcherId>& ids) {
  for (const events::WatcherId id : ids) {
    const auto found = watchers_.find(id);
    if (found != watchers_.end()) found->second->wake();
  }
}

void WatchHandler::end_unlawful(bool changed) {
  const WallTime now = clock_.wall_now();
  for (const auto& [id, watcher] : watchers_) watcher->judge(changed, now);
}

void WatchHandler::end_all(const Status& why) {
  for (const auto& [id, watcher] : watchers_) watcher->end(why);
}

void WatchHandler::shut_down(Status why) {
  shut_down_ = std::move(why);
  for (const auto& [id, watcher] : watchers_) watcher->wake();
}

}  // namespace holdfast::web

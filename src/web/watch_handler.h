// Watches over HTTP: each is a response that streams what the fan-out has for it, as server-sent
// events. A message is turned into text once for all watchers that are due the same.
//
//   append ─► wake ─► take, format, write ─► rest ─► take ... ─► nothing: wait, or say "still here"
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/lawful.h"
#include "base/clock.h"
#include "base/result.h"
#include "events/fan_out.h"
#include "events/watch_request.h"
#include "metrics/metrics.h"
#include "net/http_message.h"

namespace holdfast::web {

namespace asio = boost::asio;

struct WatchHandlerOptions {
  size_t max_watchers = 2'000;  // further ones are refused with kResourceExhausted
  Duration keep_alive = std::chrono::seconds(15);
  // After each message; what happens meanwhile travels in one.
  Duration rest = std::chrono::milliseconds(50);
};

class WatchHandler {
 public:
  WatchHandler(const asio::any_io_executor& loop, events::FanOut& fan_out, const Clock& clock,
               metrics::Registry& registry, WatchHandlerOptions options);
  // Requires: every stream it gave out has ended.
  ~WatchHandler();

  // The response that streams it; fails as FanOut::add() does. Requires: the caller may watch all
  // of `request`.
  Result<net::HttpResponse> open(const events::WatchRequest& request, api::Lawful lawful);
  // Ends the watches whose identity has expired, and, if permissions `changed`, those that are no
  // longer allowed.
  void end_unlawful(bool changed);
  // Lets these watchers take what is due to them; ids of others are ignored.
  void wake(const std::vector<events::WatcherId>& ids);
  // Ends every stream that runs with `why`.
  void end_all(const Status& why);
  // Ends every stream with `why` and refuses new ones.
  void shut_down(Status why);
  size_t size() const { return watchers_.size(); }

 private:
  class Watcher;
  using Text = std::shared_ptr<const std::string>;
  struct Formatted {
    std::shared_ptr<const events::Message> message;
    Text text;
  };

  asio::awaitable<void> serve(Watcher& watcher, net::HttpSink& sink);
  asio::awaitable<Status> send_due(Watcher& watcher, net::HttpSink& sink);
  Text text_of(const std::shared_ptr<const events::Message>& message);

  asio::any_io_executor loop_;
  events::FanOut& fan_out_;
  const Clock& clock_;
  WatchHandlerOptions options_;
  metrics::Gauge count_;
  metrics::Counter refused_;
  std::unordered_map<events::WatcherId, Watcher*> watchers_;
  std::deque<Formatted> formatted_;  // the last few
  std::optional<Status> shut_down_;
};

}  // namespace holdfast::web

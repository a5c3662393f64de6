// Carries every change of the store into the fan-out, once, for all watchers. If the store's
// history is lost to it, it resets the fan-out and starts again: watchers are told, none sees a
// gap.
#pragma once

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <vector>

#include "base/backoff.h"
#include "base/clock.h"
#include "events/fan_out.h"
#include "store/store.h"

namespace holdfast::api {

namespace asio = boost::asio;

class FeedService {
 public:
  using Wake = std::function<void(const std::vector<events::WatcherId>&)>;

  struct Options {
    store::Revision resumable_revisions = 4'096;  // read anew when the feed starts
    // Waits until the store may be read; false: never mind. Empty: it may.
    std::function<asio::awaitable<bool>()> until_ready = {};
  };

  FeedService(store::Store& store, events::FanOut& fan_out, const Clock& clock, Wake wake,
              Options options)
      : store_(store),
        fan_out_(fan_out),
        clock_(clock),
        wake_(std::move(wake)),
        options_(std::move(options)) {}

  // Until cancelled.
  asio::awaitable<void> run();
  // Ends slow watchers when their grace is over, and says how far the store has come where no event
  // did; until cancelled.
  asio::awaitable<void> watch_deadlines();
  // Ends run() by closing what it waits for.
  void stop();

 private:
  struct Opened {
    store::Revision after = 0;
    std::unique_ptr<store::Watch> watch{};
  };

  asio::awaitable<Status> follow();
  asio::awaitable<Result<Opened>> open(store::Revision latest);
  void note_reached();

  store::Store& store_;
  events::FanOut& fan_out_;
  const Clock& clock_;
  Wake wake_;
  Options options_;
  std::unique_ptr<store::Watch> watch_;
  bool from_latest_ = false;  // without the past, next time
  bool stopped_ = false;
};

// Every kind this version knows, with secrets: what a controller can confirm.
std::vector<events::WatchKind> every_kind();

// The event for a change; absent if its key is not a resource's.
Result<std::optional<events::Event>> to_event(const store::Change& change);

}  // namespace holdfast::api

// Watches of a cache from within its process: the fan-out's messages as an EventStream, so that
// another cache can follow this one.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <memory>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "cache/upstream.h"
#include "events/fan_out.h"

namespace holdfast::cache {

// Belongs to one executor. Its streams end with kCancelled when it goes.
class DerivedService {
 public:
  DerivedService(const asio::any_io_executor& loop, events::FanOut& fan_out)
      : loop_(loop), fan_out_(fan_out) {}
  ~DerivedService();
  DerivedService(const DerivedService&) = delete;
  DerivedService& operator=(const DerivedService&) = delete;

  // Fails as FanOut::add() does.
  Result<std::unique_ptr<EventStream>> open(const v1::WatchRequest& request);
  // Those of the watchers that are streams of ours get what is due to them.
  void wake(const std::vector<events::WatcherId>& watchers);

 private:
  class Stream;

  asio::any_io_executor loop_;
  events::FanOut& fan_out_;
  std::unordered_map<events::WatcherId, Stream*> streams_;
};

}  // namespace holdfast::cache

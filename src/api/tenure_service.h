// Takes and keeps the tasks that one controller alone does (tenure.h), or leaves them to another.
// A controller that has its store for itself always has them, and nothing is written for it.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <optional>
#include <string>
#include <vector>

#include "api/tenure.h"
#include "base/clock.h"
#include "net/task_group.h"
#include "store/store.h"

namespace holdfast::api {

namespace asio = boost::asio;

struct TenureServiceOptions {
  TenureOptions tenure{};
  bool shared = false;  // others may use the store too
};

struct TenureStats {
  uint64_t taken = 0;
  uint64_t lost = 0;  // to another, or for lack of a store
};

class TenureService {
 public:
  TenureService(const asio::any_io_executor& loop, store::Store& store, const Clock& clock,
                TenureServiceOptions options)
      : store_(store), clock_(clock), options_(options), core_(options.tenure), tasks_(loop) {}

  void start();
  // Gives them up, in bounded time, so that another need not wait for the end of the lease.
  asio::awaitable<void> stop();

  bool held() const { return !options_.shared || core_.held(clock_.now()); }
  // What every write of such a task carries; nothing: it is not ours to do now. Empty on a store
  // that is not shared.
  std::optional<std::vector<store::Operation>> checks() const;
  // The name of who holds them; empty: nobody, as far as is known.
  std::string holder() const;
  const TenureStats& stats() const { return stats_; }

 private:
  asio::awaitable<void> run();
  asio::awaitable<Status> look();
  asio::awaitable<Status> try_take();
  asio::awaitable<Status> renew();
  void note(bool held_before);

  store::Store& store_;
  const Clock& clock_;
  TenureServiceOptions options_;
  Tenure core_;
  TenureStats stats_;
  net::TaskGroup tasks_;
};

}  // namespace holdfast::api

// Tells the controllers what a holder has, when it is due, and the holder what it may have. Each
// report is bounded in time and sent once: the next one says more than a repeated one would.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>

#include "base/clock.h"
#include "base/result.h"
#include "net/task_group.h"
#include "route/load.h"
#include "rpc/pick_healthy_service.h"

namespace holdfast::node {

namespace asio = boost::asio;

// A holder, see route::Places; called on the loop.
struct LoadSource {
  std::function<Time()> due;
  std::function<route::LoadReport()> report;
  std::function<void(const route::LoadGrant&)> on_grant;
  std::function<void()> on_failed;
};

struct LoadReportStats {
  uint64_t answered = 0;
  uint64_t failed = 0;
  Status last{};  // of the latest
};

class LoadReportService {
 public:
  // Everything outlives it.
  LoadReportService(const asio::any_io_executor& loop, const Clock& clock,
                    rpc::PickHealthyService& pick, LoadSource source);

  void start();
  asio::awaitable<void> stop();
  // The source may be due sooner than it was.
  void wake() { timer_.cancel(); }
  const LoadReportStats& stats() const { return stats_; }

 private:
  asio::awaitable<void> run();
  asio::awaitable<void> send();

  const Clock& clock_;
  rpc::PickHealthyService& pick_;
  LoadSource source_;
  bool stopping_ = false;
  LoadReportStats stats_;
  asio::steady_timer timer_;
  net::TaskGroup tasks_;
};

}  // namespace holdfast::node

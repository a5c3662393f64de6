// Carries out the checks of an agent's services: waits, probes, and says when a service turned.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "net/task_group.h"
#include "probe/check_table.h"

namespace holdfast::probe {

namespace asio = boost::asio;

// On one loop.
class CheckService {
 public:
  // As ProberService::run(): ends within the probe's timeout, and at once when it is cancelled.
  using Run = std::function<asio::awaitable<Outcome>(const Probe& probe)>;
  struct Parts {
    asio::any_io_executor loop;
    const Clock& clock;  // outlives it
    Run run;
    uint64_t seed = 1;  // of the jitter
  };

  explicit CheckService(Parts parts);
  // Requires: stop() has returned, or start() was never called.
  ~CheckService() = default;
  CheckService(const CheckService&) = delete;
  CheckService& operator=(const CheckService&) = delete;

  // As CheckTable::set(); before start() or later.
  void set(const std::vector<CheckSpec>& specs, const std::vector<std::string>& exposed);
  // Called as soon as a verdict is not what it was, except by set().
  void on_change(std::function<void()> changed) { changed_ = std::move(changed); }

  void start();
  asio::awaitable<void> stop();

  Verdict verdict(std::string_view service) const { return table_.verdict(service); }
  std::vector<CheckTable::Row> rows() const { return table_.rows(); }

 private:
  asio::awaitable<void> tick();
  asio::awaitable<void> probe(CheckTable::Start start);
  void take(CheckTable::Actions actions);

  Parts parts_;
  CheckTable table_;
  std::function<void()> changed_;
  bool started_ = false;
  bool stopping_ = false;
  asio::steady_timer timer_;
  net::TaskGroup tasks_;
};

}  // namespace holdfast::probe

#include "probe/check_service.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/log.h"

namespace holdfast::probe {
namespace {

constexpr Duration kLongTime = std::chrono::hours(1);

void note(const std::string& service, const Verdict& verdict) {
  if (verdict.healthy) {
    log::info("service is healthy", {{"service", service}});
  } else {
    log::warn("service is not healthy; nobody is sent to it here",
              {{"service", service}, {"code", "HF2150"}, {"why", verdict.reason}});
  }
}

}  // namespace

CheckService::CheckService(Parts parts)
    : parts_(std::move(parts)), table_(parts_.seed), timer_(parts_.loop), tasks_(parts_.loop) {}

void CheckService::set(const std::vector<CheckSpec>& specs,
                       const std::vector<std::string>& exposed) {
  table_.set(specs, exposed, parts_.clock.now());
  timer_.cancel();
}

void CheckService::start() {
  HF_CHECK(!started_, "checks start once");
  started_ = true;
  tasks_.spawn(tick());
}

asio::awaitable<void> CheckService::stop() {
  stopping_ = true;
  timer_.cancel();
  co_await tasks_.join();
}

asio::awaitable<void> CheckService::tick() {
  while (!stopping_) {
    take(table_.on_tick(parts_.clock.now()));
    const Time now = parts_.clock.now();
    const Duration wait = table_.next_deadline().value_or(now + kLongTime) - now;
    timer_.expires_after(std::clamp(wait, Duration::zero(), kLongTime));
    co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
  }
}

// One that was started for a check that is gone runs to its end, and nothing follows from it.
asio::awaitable<void> CheckService::probe(CheckTable::Start start) {
  const Outcome outcome = co_await parts_.run(start.probe);
  if (stopping_) co_return;
  take(table_.on_outcome(start.id, outcome, parts_.clock.now()));
  timer_.cancel();
}

void CheckService::take(CheckTable::Actions actions) {
  for (CheckTable::Start& start : actions.start) tasks_.spawn(probe(std::move(start)));
  for (const std::string& service : actions.changed) note(service, table_.verdict(service));
  if (!actions.changed.empty() && changed_) changed_();
}

}  // namespace holdfast::probe

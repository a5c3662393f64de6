// Whether the services that an agent exposes work: probe::CheckService, told of the configuration.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "app/node_part.h"
#include "base/clock.h"
#include "holdfast/v1/tunnel.pb.h"
#include "metrics/metrics.h"
#include "probe/check_service.h"
#include "probe/prober_service.h"
#include "tunnel/target.h"

namespace holdfast::app {

class AgentChecks {
 public:
  AgentChecks(const asio::any_io_executor& loop, const Clock& clock, uint64_t seed);

  // From here on; as probe::CheckTable::set().
  void set(const std::vector<probe::CheckSpec>& specs, const tunnel::TargetTable& targets) {
    checks_.set(specs, targets.services());
  }
  void on_change(std::function<void()> changed) { checks_.on_change(std::move(changed)); }
  void start() { checks_.start(); }
  asio::awaitable<void> stop() { return checks_.stop(); }

  // The health of each of its services is made what the checks say.
  void judge(v1::Exposed& exposed) const;
  // A warning while some service is not healthy: the agent itself is well.
  ComponentReport report() const;
  void update_metrics(metrics::Registry& registry);

 private:
  probe::ProberService prober_;
  probe::CheckService checks_;
  std::set<std::string> shown_;  // checks that have metrics
};

}  // namespace holdfast::app

// The probe handler inside an agent (`agent.probe_listen`): the probes that the environment or
// `probe.registry_file` lists, or else those of the agent's own checks, behind one port.
#pragma once

#include <boost/asio/awaitable.hpp>

#include <string>
#include <vector>

#include "app/node_part.h"
#include "base/result.h"
#include "config/config.h"
#include "probe/check_table.h"
#include "probe/handler_server.h"
#include "probe/prober_service.h"

namespace holdfast::app {

class AgentProbes {
 public:
  AgentProbes(const PartWorld& world, const config::ProbeSection& config);

  // From here on. kInvalidArgument, and no change, if the list is of no use.
  Status use(const config::ProbeSection& config, const std::vector<probe::CheckSpec>& checks);
  // Nothing for an empty address. Errors as of net::HttpServer.
  Result<std::vector<std::string>> listen(const std::string& address);
  asio::awaitable<void> stop() { return handler_.stop(); }

 private:
  probe::ProberService prober_;
  probe::HandlerServer handler_;
};

}  // namespace holdfast::app

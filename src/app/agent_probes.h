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
  // Without an address it is not there: the rest does nothing.
  AgentProbes(const PartWorld& world, std::string address, const config::ProbeSection& config);

  // From here on. kInvalidArgument, and no change, if the list is of no use.
  Status use(const config::ProbeSection& config, const std::vector<probe::CheckSpec>& checks);
  // Errors as of net::HttpServer.
  Result<std::vector<std::string>> listen();
  asio::awaitable<void> stop() { return handler_.stop(); }

 private:
  std::string address_;
  probe::ProberService prober_;
  probe::HandlerServer handler_;
};

}  // namespace holdfast::app

#include "app/agent_probes.h"

#include <fmt/format.h>

#include "app/probe_registry.h"
#include "base/reason.h"

namespace holdfast::app {
namespace {

net::HttpServerOptions http_options(const config::ProbeSection& config) {
  net::HttpServerOptions options = probe::handler_http_options();
  options.max_connections = config.limits.connections;
  return options;
}

}  // namespace

AgentProbes::AgentProbes(const PartWorld& world, const config::ProbeSection& config)
    : prober_(world.loop, {.address = config.address,
                           .source = config.source,
                           .max_running = config.limits.running}),
      handler_(world.loop, {.clock = world.clock, .metrics = world.registry, .prober = prober_},
               http_options(config)) {}

Status AgentProbes::use(const config::ProbeSection& config,
                        const std::vector<probe::CheckSpec>& checks) {
  TRY(probe::ChosenRegistry chosen, read_registry(config));
  if (chosen.from.empty()) {
    chosen.from = "agent.checks";
    chosen.warnings.clear();  // that there is no list
    for (const probe::CheckSpec& check : checks) {
      TRY_OK(chosen.registry.add(check.probe).status());
    }
  }
  log_registry(chosen);
  handler_.use(std::move(chosen.registry));
  return absl::OkStatus();
}

Result<std::vector<std::string>> AgentProbes::listen(const std::string& address) {
  if (address.empty()) return std::vector<std::string>();
  Result<std::string> bound = handler_.listen(address);
  if (!bound.ok()) {
    const Reason reason = split_reason(bound.status());
    return coded(bound.status().code(), reason.code,
                 fmt::format("agent.probe_listen: {}", reason.message));
  }
  return std::vector<std::string>{*std::move(bound)};
}

}  // namespace holdfast::app

#include "app/agent_probes.h"

#include <fmt/format.h>

#include "app/handler_limits.h"
#include "app/probe_registry.h"
#include "base/reason.h"

namespace holdfast::app {

AgentProbes::AgentProbes(const PartWorld& world, std::string address,
                         const config::ProbeSection& config)
    : address_(std::move(address)),
      prober_(world.loop, {.address = config.address,
                           .source = config.source,
                           .max_running = config.limits.running}),
      handler_(world.loop, {.clock = world.clock, .metrics = world.registry, .prober = prober_},
               address_.empty() ? probe::handler_http_options() : handler_options(config)) {}

Status AgentProbes::use(const config::ProbeSection& config,
                        const std::vector<probe::CheckSpec>& checks) {
  if (address_.empty()) return absl::OkStatus();
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

Result<std::vector<std::string>> AgentProbes::listen() {
  if (address_.empty()) return std::vector<std::string>();
  Result<std::string> bound = handler_.listen(handler_address(address_));
  if (!bound.ok()) {
    const Reason reason = split_reason(bound.status());
    return coded(bound.status().code(), reason.code,
                 fmt::format("agent.probe_listen: {}", reason.message));
  }
  return std::vector<std::string>{*std::move(bound)};
}

}  // namespace holdfast::app

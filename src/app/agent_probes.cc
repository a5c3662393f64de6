#include "app/agent_probes.h"

#include "app/probe_registry.h"

namespace holdfast::app {

AgentProbes::AgentProbes(const PartWorld& world, const config::ProbeSection& config)
    : prober_(world.loop, {.address = config.address,
                           .source = config.source,
                           .max_running = config.limits.running}),
      handler_(world.loop, {.clock = world.clock, .metrics = world.registry, .prober = prober_}) {}

Status AgentProbes::use(const config::ProbeSection& config,
                        const std::vector<probe::CheckSpec>& checks) {
  TRY(probe::ChosenRegistry chosen, read_registry(config));
  if (chosen.from.empty()) {
    for (const probe::CheckSpec& check : checks) {
      TRY_OK(chosen.registry.add(check.probe).status());
    }
  }
  handler_.use(std::move(chosen.registry));
  return absl::OkStatus();
}

Result<std::vector<std::string>> AgentProbes::listen(const std::string& address) {
  if (address.empty()) return std::vector<std::string>();
  TRY(std::string bound, handler_.listen(address));
  return std::vector<std::string>{std::move(bound)};
}

}  // namespace holdfast::app

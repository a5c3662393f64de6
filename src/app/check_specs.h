// From agent.checks and agent.services to what the agent probes.
#pragma once

#include <vector>

#include "base/result.h"
#include "config/check_config.h"
#include "probe/check_table.h"
#include "tunnel/target.h"

namespace holdfast::app {

// One for each of agent.checks. kInvalidArgument HF2151 names one whose target cannot be probed.
Result<std::vector<probe::CheckSpec>> check_specs(const config::CheckConfigs& checks,
                                                  const tunnel::TargetTable& targets);

}  // namespace holdfast::app

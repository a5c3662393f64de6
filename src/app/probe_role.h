// The daemon's role of a pod's probe handler. It has no identity and talks to no controller.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "config/load.h"

namespace holdfast::app {

struct ProbeRole {
  config::Loaded loaded{};
  // Reads it again, for SIGHUP.
  std::function<Result<config::Loaded>()> reload{};
  std::string version{};
};

// Runs until it is told to stop; the exit code.
int run_probe(const ProbeRole& role);

}  // namespace holdfast::app

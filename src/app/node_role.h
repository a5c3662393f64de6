// The daemon's roles besides the controller: an agent or a proxy.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "config/load.h"

namespace holdfast::app {

struct NodeRole {
  config::Loaded loaded{};  // of an agent or a proxy
  // Reads it again, for SIGHUP.
  std::function<Result<config::Loaded>()> reload{};
  std::string version{};
};

// Runs until it is told to stop; the exit code.
int run_node(const NodeRole& role);

}  // namespace holdfast::app

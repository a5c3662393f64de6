// The daemon's role of a cluster's injector.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "config/load.h"

namespace holdfast::app {

struct InjectorRole {
  const config::Loaded& loaded;
  std::function<Result<config::Loaded>()> reload;
  std::string version;
};

// Runs until it is told to stop; the exit code.
int run_injector(const InjectorRole& role);

}  // namespace holdfast::app

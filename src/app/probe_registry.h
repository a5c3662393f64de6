// The list of probes of a handler, read from where this machine has it.
#pragma once

#include "base/result.h"
#include "config/config.h"
#include "probe/registry_source.h"

namespace holdfast::app {

// From probe.registry_file or the environment. kInvalidArgument if what is there is of no use.
Result<probe::ChosenRegistry> read_registry(const config::ProbeSection& config);

// What is in it, path by path, and what is odd about it.
void log_registry(const probe::ChosenRegistry& chosen);

}  // namespace holdfast::app

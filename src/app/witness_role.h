// The daemon's role of a pair's witness.
#pragma once

#include <string>

#include "config/load.h"

namespace holdfast::app {

// Runs until it is told to stop; the exit code.
int run_witness(const config::Loaded& loaded, const std::string& version);

}  // namespace holdfast::app

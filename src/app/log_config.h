// The log as the configuration wants it.
#pragma once

#include "config/config.h"

namespace holdfast::app {

// Requires: of a configuration that was loaded.
void configure_log(const config::LogConfig& config);

}  // namespace holdfast::app

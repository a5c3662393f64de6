// The times of a pair as its module has them, and what must hold between them, for whoever reads a
// configuration: the daemon, and `holdfast config`.
#pragma once

#include "base/result.h"
#include "config/config.h"
#include "ha/timing.h"

namespace holdfast::app {

ha::Timing timing_of(const config::HaConfig& ha);
// HF4110, as ha::check() says it.
Status check_pair_times(const config::HaConfig& ha);

}  // namespace holdfast::app

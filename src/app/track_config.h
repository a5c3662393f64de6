// The configuration of tracking as the kernel's side takes it.
#pragma once

#include "config/config.h"
#include "track/bpf_loader.h"
#include "track/track_service.h"

namespace holdfast::app {

hf_settings track_settings(const config::TrackingConfig& config);
track::TrackOptions track_options(const config::TrackingConfig& config);
track::LoadOptions load_options(const config::TrackingConfig& config);

}  // namespace holdfast::app

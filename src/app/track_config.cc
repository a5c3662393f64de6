#include "app/track_config.h"

namespace holdfast::app {

hf_settings track_settings(const config::TrackingConfig& config) {
  return {.layout = HF_LAYOUT,
          .refusals_to_eject = static_cast<uint32_t>(config.refusals_to_eject),
          .probe_after_ns = static_cast<uint64_t>(config.probe_after.count()),
          .probe_at_most_ns = static_cast<uint64_t>(config.probe_at_most.count()),
          .udp_idle_ns = static_cast<uint64_t>(config.udp_idle.count())};
}

track::TrackOptions track_options(const config::TrackingConfig& config) {
  return {.directory = config.pins,
          .max_series = config.limits.series,
          .times = {.audit_every = config.audit_interval},
          .settings = track_settings(config)};
}

track::LoadOptions load_options(const config::TrackingConfig& config) {
  const auto backends = static_cast<uint32_t>(config.limits.backends);
  return {.directory = config.pins,
          .cgroup = config.cgroup,
          .mount_bpffs = true,
          .make_cgroup = true,
          .sizes = {.services = static_cast<uint32_t>(config.limits.services),
                    .slots = backends,
                    .backends = backends,
                    .counters = backends},
          .settings = track_settings(config)};
}

}  // namespace holdfast::app

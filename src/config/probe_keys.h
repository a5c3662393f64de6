// The rows of the table of keys that the probe handler looks at; most of them also count for the
// one inside an agent. Only keys.cc includes it.
#pragma once

#include <array>

#include "config/addresses.h"
#include "config/key_rows.h"
#include "config/keys.h"
#include "resource/text_rules.h"

namespace holdfast::config {

inline constexpr auto kProbeKeys = std::to_array<Key>({
    {.path = "probe.listen",
     .fallback = "[::]:9000",
     .doc = "Address of the probe handler; [::] takes IPv4 along.",
     .assign = into<&Config::probe, &ProbeSection::listen>,
     .rule = wrong_listen_address,
     .roles = kForProbe},
    {.path = "probe.health_listen",
     .doc = "Address that serves only the handler's own health and metrics; \"\" turns it off.",
     .assign = into<&Config::probe, &ProbeSection::health_listen>,
     .rule = wrong_listen_address,
     .may_be_empty = true,
     .roles = kForProbe},
    {.path = "probe.address",
     .fallback = "127.0.0.1",
     .doc = "IP address that probes without a host go to: the pod's own.",
     .assign = into<&Config::probe, &ProbeSection::address>,
     .rule = resource::wrong_ip,
     .roles = kForProbe | kForAgent},
    {.path = "probe.source",
     .doc = "IP address that probes come from, for redirections that let it through.",
     .assign = into<&Config::probe, &ProbeSection::source>,
     .rule = resource::wrong_ip,
     .machine_default = "the kernel's choice",
     .may_be_empty = true,
     .roles = kForProbe | kForAgent},
    {.path = "probe.registry_file",
     .doc = "File with the JSON list of probes; without it the variable HOLDFAST_DATAPLANE_PROBES "
            "has them, or KUMA_DATAPLANE_PROBES. A reload reads it again.",
     .assign = into<&Config::probe, &ProbeSection::registry_file>,
     .needs_restart = false,
     .may_be_empty = true,
     .roles = kForProbe | kForAgent},
    {.path = "probe.limits.running",
     .type = Type::Count,
     .fallback = "4096",
     .doc = "Probes made at once; more fail at once, and say so.",
     .assign = into<&Config::probe, &ProbeSection::limits, &ProbeLimits::running>,
     .range = {1, 100'000},
     .roles = kForProbe | kForAgent},
    {.path = "probe.limits.connections",
     .type = Type::Count,
     .fallback = "4096",
     .doc = "Connections of callers at once; for one more, the oldest that asks nothing is closed.",
     .assign = into<&Config::probe, &ProbeSection::limits, &ProbeLimits::connections>,
     .range = {1, 100'000},
     .roles = kForProbe | kForAgent},
});

}  // namespace holdfast::config

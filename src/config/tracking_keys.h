// The rows of the table of keys about counting connections in the kernel. Only keys.cc includes it.
#pragma once

#include <array>
#include <string_view>

#include "config/key_rows.h"
#include "config/keys.h"
#include "config/node_rules.h"

namespace holdfast::config {

template <auto Member>
inline constexpr Key::Assign kIntoTracking = into<&Config::agent, &AgentSection::tracking, Member>;
template <auto Member>
inline constexpr Key::Assign kIntoTrackingLimits =
    into<&Config::agent, &AgentSection::tracking, &TrackingConfig::limits, Member>;

inline constexpr auto kTrackingKeys = std::to_array<Key>({
    {.path = "agent.tracking.enabled",
     .type = Type::Choice,
     .fallback = "no",
     .doc = "Whether the agent tells the kernel which services there are and reads its counts; "
            "`holdfastd track load` puts the programs there first.",
     .assign = kIntoTracking<&TrackingConfig::enabled>,
     .words = kNoYes,
     .roles = kForAgent},
    {.path = "agent.tracking.pins",
     .fallback = "/run/holdfast/bpf",
     .doc = "Folder that keeps what is loaded into the kernel; a bpffs is mounted there if it is "
            "on none.",
     .assign = kIntoTracking<&TrackingConfig::pins>,
     .rule = wrong_folder,
     .roles = kForAgent},
    {.path = "agent.tracking.cgroup",
     .doc = "Folder of cgroup2 whose programs are translated and counted, with all below it.",
     .assign = kIntoTracking<&TrackingConfig::cgroup>,
     .rule = wrong_folder,
     .may_be_empty = true,
     .roles = kForAgent},
    {.path = "agent.tracking.audit_interval",
     .type = Type::Time,
     .fallback = "1m",
     .doc = "How often counts are compared with the sockets that are alive, and repaired.",
     .assign = kIntoTracking<&TrackingConfig::audit_interval>,
     .range = {100 * kMillisecond, 1 * kDay},
     .needs_restart = false,
     .roles = kForAgent},
    {.path = "agent.tracking.refusals_to_eject",
     .type = Type::Count,
     .fallback = "5",
     .doc = "Connections in a row that a backend refuses before the kernel passes it over; 0: "
            "never.",
     .assign = kIntoTracking<&TrackingConfig::refusals_to_eject>,
     .range = {0, 1'000},
     .needs_restart = false,
     .roles = kForAgent},
    {.path = "agent.tracking.probe_after",
     .type = Type::Time,
     .fallback = "1s",
     .doc = "When one connection tries such a backend again; doubles with each refusal.",
     .assign = kIntoTracking<&TrackingConfig::probe_after>,
     .range = {10 * kMillisecond, 1 * kHour},
     .needs_restart = false,
     .roles = kForAgent},
    {.path = "agent.tracking.probe_at_most",
     .type = Type::Time,
     .fallback = "30s",
     .doc = "The longest that this time grows to.",
     .assign = kIntoTracking<&TrackingConfig::probe_at_most>,
     .range = {10 * kMillisecond, 1 * kDay},
     .needs_restart = false,
     .roles = kForAgent},
    {.path = "agent.tracking.udp_idle",
     .type = Type::Time,
     .fallback = "1m",
     .doc =
         "A UDP flow of a socket that is not connected is over after so long without a datagram, "
         "at the next audit; 0: only when its socket is closed.",
     .assign = kIntoTracking<&TrackingConfig::udp_idle>,
     .range = {0, 1 * kDay},
     .needs_restart = false,
     .roles = kForAgent},
    {.path = "agent.tracking.holders",
     .type = Type::Count,
     .fallback = "0",
     .doc = "How many proxies and agents share a zone's capacity while no controller deals it; 0: "
            "the proxies that are known, and this agent.",
     .assign = kIntoTracking<&TrackingConfig::holders>,
     .range = {0, 100'000},
     .needs_restart = false,
     .roles = kForAgent},
    {.path = "agent.tracking.limits.series",
     .type = Type::Count,
     .fallback = "500",
     .doc = "Services and zones that have metrics of their own, the busiest; how many are hidden "
            "is a metric.",
     .assign = kIntoTrackingLimits<&TrackingLimits::series>,
     .range = {1, 20'000},
     .roles = kForAgent},
    {.path = "agent.tracking.limits.services",
     .type = Type::Count,
     .fallback = "4096",
     .doc = "Virtual IPs and ports that the kernel's tables are made for.",
     .assign = kIntoTrackingLimits<&TrackingLimits::services>,
     .range = {16, 65'536},
     .roles = kForAgent},
    {.path = "agent.tracking.limits.backends",
     .type = Type::Count,
     .fallback = "16384",
     .doc = "Backends, and counters of services and zones, that they are made for.",
     .assign = kIntoTrackingLimits<&TrackingLimits::backends>,
     .range = {64, 1'048'576},
     .roles = kForAgent},
});

}  // namespace holdfast::config

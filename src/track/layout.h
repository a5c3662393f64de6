// What the kernel's programs and the agent both read and write: the maps' keys and values, in plain
// C, so that there is one definition. Padding is explicit and sizes are asserted. A change here
// changes HF_LAYOUT, and a loader that finds pins of another layout says so instead of guessing.
//
//   hf_services  VIP ──► service id          hf_plans[id]  order of zones, limits, ranges of slots
//   hf_slots[i]  one backend of a zone       hf_health[b]  refusals of a backend, written in-kernel
//   hf_counters  {service, zone} ──► opened, closed        hf_failures, hf_reserved: the same keys
//   hf_sockets   a socket ──► its flows      hf_settings[0], hf_stats[0]
//
// Every address is 16 bytes, IPv4 as ::ffff:a.b.c.d; addresses and ports are in network order.
#pragma once

#include <linux/types.h>

#define HF_LAYOUT 1

#define HF_TCP 6
#define HF_UDP 17

// Of one service in one node's plan.
#define HF_ZONES_PER_SERVICE 16
#define HF_BACKENDS_PER_ZONE 64
// VIPs that one unconnected UDP socket talks to at the same time; a fifth replaces the oldest.
#define HF_FLOWS_PER_SOCKET 4

#define HF_UNLIMITED 0xffffffffu

// What is counted. Zone 0 is every zone that the configuration does not list.
struct hf_key {
  __u16 service;
  __u8 zone;
  __u8 pad;
};

// Both grow and wrap; a connection is active while it is in the first and not in the second.
struct hf_counts {
  __u32 opened;
  __u32 closed;
};

// Connections that ended without having been established, by cause; `cut` were established and then
// ended by an error. All of them are in `closed` too.
struct hf_failures {
  __u32 refused;
  __u32 timed_out;
  __u32 reset;
  __u32 gave_up;
  __u32 cut;
};

struct hf_address {
  __u32 words[4];
};

struct hf_vip {
  struct hf_address address;
  __u16 port;
  __u8 protocol;
  __u8 pad;
};

// A retired service is not translated any more; it keeps its id until its connections are gone.
#define HF_SERVICE_RETIRED 1

struct hf_service {
  __u16 service;
  __u8 flags;
  __u8 pad;
};

// What happens to a connection when every zone's limit is reached.
#define HF_FULL_REJECT 0
#define HF_FULL_OVERFLOW 1

// One zone of a plan: its slots are hf_slots[first_slot .. first_slot + slot_count).
struct hf_zone {
  __u32 limit;         // connections of this node, or HF_UNLIMITED
  __u32 static_limit;  // the same once the lease has run out
  __u32 first_slot;
  __u16 slot_count;
  __u8 zone;
  __u8 pad;
};

// Zones in order of preference.
struct hf_plan {
  __u64 lease_end_ns;  // of CLOCK_MONOTONIC; 0: the limits do not run out
  __u16 service;
  __u8 zone_count;
  __u8 when_full;
  __u32 pad;
  struct hf_zone zones[HF_ZONES_PER_SERVICE];
};

// A column of an alias table: this backend if the coin is below `threshold`, else the backend of
// the zone's column `alias`. Service and zone tell a reader that the range is still the one meant.
struct hf_slot {
  struct hf_address address;
  __u16 port;
  __u16 service;
  __u8 zone;
  __u8 pad;
  __u16 alias;
  __u32 threshold;
  __u32 backend;  // index in hf_health, from 1
};

// A backend is ejected while `refusals` is at least the setting; then one connection may try it at
// `probe_at_ns`. The generation changes when its id is given to another backend, and is odd while
// the id is nobody's.
struct hf_health {
  __u64 probe_at_ns;
  __u32 refusals;
  __u32 generation;
};

// Flows of sockets:
//
//   None ─connect─► Picked ─SYN─► Open ─established─► Established ─┐
//     ▲               └─────────────┴────────── end ◄──────────────┘
//
// Picked holds a place of the lease and is not counted. UDP goes from None to Open.
#define HF_FLOW_NONE 0
#define HF_FLOW_PICKED 1
#define HF_FLOW_OPEN 2
#define HF_FLOW_ESTABLISHED 3
#define HF_FLOW_CLAIMED 4  // being filled, or its end being counted

#define HF_HOLDS_PLACE 1  // of the lease
#define HF_COUNTED 2      // in `opened`, so it will be in `closed`

struct hf_flow {
  __u32 state;
  __u32 backend;
  struct hf_address vip;
  struct hf_address address;
  __u16 vip_port;
  __u16 port;
  struct hf_key key;
  __u32 generation;
  __u8 protocol;
  __u8 flags;
  __u16 pad;
  __u64 used_ns;  // the last datagram that a program saw, for UDP
};

#define HF_SOCKET_ORPHAN 1  // the last descriptor is gone

// What is kept with a socket, and outlives every version of the programs.
struct hf_socket {
  __u32 layout;
  __u32 flags;
  struct hf_flow flows[HF_FLOWS_PER_SOCKET];
};

struct hf_settings {
  __u32 layout;
  __u32 refusals_to_eject;  // in a row; 0: never
  __u64 probe_after_ns;     // doubles with each refused probe
  __u64 probe_at_most_ns;
  // A UDP flow without a datagram for so long ends in the next audit, unless its socket is
  // connected; 0: never.
  __u64 udp_idle_ns;
};

// What happened to connections beside being counted; each only grows.
struct hf_stats {
  __u64 no_backend;  // EHOSTUNREACH
  __u64 rejected;    // every zone full
  __u64 overflowed;  // beyond the limits, as the policy says
  __u64 panicked;    // every backend is ejected: one was tried all the same
  __u64 spilled;     // not to the first zone of the order
  __u64 untracked;   // translated, but there was no memory or no counter for it
  __u64 probes;      // connections that tried an ejected backend
  __u64 replaced;    // UDP flows ended because a socket had too many
};

// One line of the audit: a flow that is alive.
struct hf_live {
  struct hf_key key;
  __u32 state;
  __u32 backend;
  __u32 flags;  // HF_HOLDS_PLACE
};

// What the repairing program is told: amounts to add, wrapping.
struct hf_repair {
  struct hf_key key;
  __u32 opened;
  __u32 closed;
  __u32 reserved;
};

#ifdef __cplusplus
#define HF_ASSERT_SIZE(type, bytes) static_assert(sizeof(struct type) == bytes)
#else
#define HF_ASSERT_SIZE(type, bytes) _Static_assert(sizeof(struct type) == bytes, #type)
#endif
HF_ASSERT_SIZE(hf_key, 4);
HF_ASSERT_SIZE(hf_counts, 8);
HF_ASSERT_SIZE(hf_failures, 20);
HF_ASSERT_SIZE(hf_vip, 20);
HF_ASSERT_SIZE(hf_service, 4);
HF_ASSERT_SIZE(hf_zone, 16);
HF_ASSERT_SIZE(hf_plan, 16 + 16 * HF_ZONES_PER_SERVICE);
HF_ASSERT_SIZE(hf_slot, 32);
HF_ASSERT_SIZE(hf_health, 16);
HF_ASSERT_SIZE(hf_flow, 64);
HF_ASSERT_SIZE(hf_socket, 8 + 64 * HF_FLOWS_PER_SOCKET);
HF_ASSERT_SIZE(hf_settings, 32);
HF_ASSERT_SIZE(hf_stats, 64);
HF_ASSERT_SIZE(hf_live, 16);
HF_ASSERT_SIZE(hf_repair, 16);

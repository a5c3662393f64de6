// Puts the programs into the kernel and pins them: the one step that needs root, run by a small
// helper. Afterwards the kernel translates and counts by itself, whatever happens to the agent; the
// agent opens the pins (pins_service.h).
//
//   DIRECTORY/hf_counters, hf_sockets, ...   maps: they outlive every version of the programs
//   DIRECTORY/link_hf_connect4, ...          attachments to the cgroup, updated in place
//   DIRECTORY/hf_mend                        the program that repairs counts
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "track/layout.h"
#include "track/model.h"

namespace holdfast::track {

// The programs that are attached, in the order in which that is done: what ends and counts before
// what begins.
inline constexpr std::array kAttached = {
    "hf_sock_release", "hf_sockops",  "hf_getpeername4", "hf_getpeername6", "hf_recvmsg4",
    "hf_recvmsg6",     "hf_sendmsg4", "hf_sendmsg6",     "hf_connect4",     "hf_connect6"};

struct Owner {
  uint32_t user = 0;
  uint32_t group = 0;
};

struct LoadOptions {
  std::string directory{};  // on a bpffs, made if it is not there
  std::string cgroup{};     // of cgroup2; sockets made in it and below are translated and counted
  // Mounts a bpffs at `directory` if it is not on one.
  bool mount_bpffs = false;
  // If it is not there: what was made is gone after a boot.
  bool make_cgroup = false;
  // Who may open the pins besides root; nobody named: whose the folder is.
  std::optional<Owner> owner{};
  Sizes sizes{};  // of maps made now; those that are pinned keep theirs
  hf_settings settings = {.layout = HF_LAYOUT,
                          .refusals_to_eject = 5,
                          .probe_after_ns = 1'000'000'000,
                          .probe_at_most_ns = 30'000'000'000,
                          .udp_idle_ns = 60'000'000'000};
};

struct Loaded {
  int links_made = 0;
  int links_updated = 0;  // programs replaced under live connections
  int maps_reused = 0;
  bool cgroup_made = false;
};

// What keeps this machine from it, as a Status: HF8101 rights, HF8102 bpffs, HF8103 cgroup2, HF8104
// the kernel is too old or has no type information. OK: load() should work.
Status check_machine(const LoadOptions& options);

// Loads, attaches and pins; over earlier pins it is an upgrade in place, in which no connection and
// no count is lost. Also HF8105: the pins have another layout; HF8106: the kernel refuses a
// program; HF8107: the pins belong to another cgroup.
Result<Loaded> load(const LoadOptions& options);

// Detaches the programs and removes the pins. Connections go on; nothing is counted any more.
Status unload(const std::string& directory);

}  // namespace holdfast::track

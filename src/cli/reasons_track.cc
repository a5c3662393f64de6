// The rows HF8nnn: connections counted in the kernel.
#include "cli/reasons.h"

namespace holdfast::cli {
namespace {

// code, title, what it means, what to do.
constexpr ReasonInfo kTrackReasons[] = {
    {"HF8101", "no right to load programs into the kernel",
     "Connections are counted in the kernel only if the programs for it were loaded, which needs "
     "root with CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN; root of a container often lacks them.",
     "run the loading step as root once, or go on without: proxies count what goes through them"},
    {"HF8102", "no place for pins",
     "What is loaded into the kernel is kept in a folder of a bpffs, and the one that was named is "
     "on none, or could not be made.",
     "mount one (mount -t bpf bpffs FOLDER), or name a folder of one that is mounted"},
    {"HF8103", "no cgroup2",
     "Programs are attached to a folder of cgroup2, and the one that was named is none.",
     "name a folder below a mounted cgroup2"},
    {"HF8104", "the kernel cannot do it",
     "It is older than 6.1, or was built without BPF or its type information (BTF).",
     "use a newer kernel, or go on without: proxies count what goes through them"},
    {"HF8105", "pins of another layout",
     "What is pinned was made by a version whose counters look different.",
     "unload the old version, which ends counting of live connections, then load the new one"},
    {"HF8106", "the kernel refuses a program",
     "It was read and not accepted, or not attached; the message says which and why.",
     "report it with the message and the kernel's version"},
    {"HF8107", "pins of another cgroup",
     "The folder of pins belongs to programs that are attached to another cgroup.",
     "name the cgroup it was loaded with, or another folder"},
    {"HF8108", "the pins cannot be opened",
     "Nothing was loaded there yet, since nobody did or since the machine does not allow it; or "
     "this process may not use what was.",
     "run `holdfastd track check` there as root: it says what keeps the machine from it; if "
     "nothing does, `holdfastd track load --owner USER`, the agent's"},
    {"HF8109", "a map of the kernel cannot be read or written",
     "The kernel refused, or a map is full; the message says what was done.",
     "if it is full, load with larger sizes; else report it with the message"},
    {"HF8110", "the programs are attached to nothing",
     "What was loaded is still there, but its cgroup was removed, or somebody detached it: nothing "
     "is translated or counted.",
     "unload and load again (holdfastd track unload; holdfastd track load)"},
    {"HF8111", "zones and their numbers do not fit",
     "Each zone that is counted has a name and a number from 1 to 254, and neither occurs twice.",
     "mend the list; a number that was in use keeps its meaning in the counters"},
    {"HF8112", "no zone is counted",
     "Connections are translated, but only zones that zone_map/default lists are counted and "
     "limited, and it lists none, or the agent has not read it yet.",
     "list the zones: holdfast apply -f a zone_map named default with names and ids"},
    {"HF8113", "not every service is in the kernel",
     "Two services have one virtual IP and port, or there are more services, zones or backends "
     "than the kernel's tables take; the message says which.",
     "give each service its own virtual IP; or raise agent.tracking.limits and load anew"},
    {"HF8114", "another agent uses the pins",
     "One folder of pins has one agent: a second would write over what the first wrote and count "
     "its connections once more. It goes on without counting, and takes over when the first ends.",
     "stop one of the two, or give each a folder and a cgroup of its own (agent.tracking.pins, "
     "agent.tracking.cgroup)"},
};

}  // namespace

std::span<const ReasonInfo> track_reasons() {
  return kTrackReasons;
}

}  // namespace holdfast::cli

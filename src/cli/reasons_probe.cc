// The rows of HF7nnn: probes and their handler (HF70nn), the injector (HF71nn).
#include "cli/reasons.h"

namespace holdfast::cli {
namespace {

// code, title, what it means, what to do.
constexpr ReasonInfo kReasons[] = {
    {"HF7001", "no connection to the application",
     "It refuses connections on the probe's port, or cannot be reached there.",
     "see whether it listens on that port and on the pod's address"},
    {"HF7002", "no answer in time", "The application did not answer within the probe's time-out.",
     "look at the application, or raise the probe's timeoutSeconds"},
    {"HF7003", "the application says no",
     "It answered that it is not healthy; the message has its own code.",
     "read the application's log"},
    {"HF7004", "not the protocol",
     "What came back is not HTTP, HTTP/2, TLS or gRPC, whichever the probe asks for.",
     "see whether the probe's port, scheme and protocol are the application's"},
    {"HF7005", "the answer was cut off",
     "The application began to answer and did not end. The kubelet would ask again.",
     "see whether the application closes connections or stalls while it answers"},
    {"HF7006", "too many probes at once", "As many probes as may run at once do so already.",
     "probe less often, or find out which applications let probes hang"},
    {"HF7007", "the probe was cancelled", "Who asked for it went away before it ended.",
     "nothing, unless it happens often: then callers wait less long than the probe may take"},
    {"HF7010", "a probe that cannot be",
     "An entry of the list of probes is wrong; the message says which and why.",
     "correct the list (HOLDFAST_DATAPLANE_PROBES), or inject the pod anew"},
    {"HF7011", "too many probes", "The list has more probes than a pod may have.",
     "remove probes that nobody needs"},
    {"HF7050", "no such probe", "Nothing is registered at the path that was asked for.",
     "compare the path with the list that the handler logs when it starts; if that is old, inject "
     "the pod anew"},
    {"HF7051", "a probe is asked for with GET", "The handler takes no other method.",
     "use GET, as the kubelet does"},
    {"HF7052", "the file of probes cannot be read",
     "probe.registry_file names a file that is not there, not readable or too large.",
     "correct the name, or leave it out and set HOLDFAST_DATAPLANE_PROBES"},
    {"HF7053", "which list of probes counts",
     "There is none, or more than one; the message says which is used.",
     "set only one of probe.registry_file, HOLDFAST_DATAPLANE_PROBES and KUMA_DATAPLANE_PROBES"},
    {"HF7054", "the new list of probes is wrong",
     "The handler was told to read it again and goes on with the old one.",
     "correct what the message names, then send SIGHUP again"},
};

}  // namespace

std::span<const ReasonInfo> probe_reasons() {
  return kReasons;
}

}  // namespace holdfast::cli

// The places of a pod that can hold a probe or a hook: three probes and two hooks for each
// container that can have them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "inject/record.h"
#include "inject/sidecar.h"
#include "inject/warning.h"
#include "probe/probe.h"

namespace holdfast::inject {

struct Slot {
  std::string container{};
  std::string name{};                   // "livenessProbe", "preStop"
  json::object* holder = nullptr;       // has httpGet, tcpSocket, grpc or exec as a member
  const json::object* owner = nullptr;  // the container
  json::object original{};              // {"grpc": {...}}: the network action as the user wrote it
  bool hook = false;
  bool ours = false;    // it points at the handler already
  bool native = false;  // in an init container that goes on running
  bool early = false;   // asked when the handler is not there yet, or not any more
};

// Every slot with a network action, in the order of the pod; the sidecar has none. Adds a warning
// for each command and each probe that is no single action.
std::vector<Slot> find_slots(json::object& pod, const Record& old, const Handler& handler,
                             std::vector<Warning>& warnings);

// "container "web", livenessProbe"
std::string place_of(const Slot& slot);

// The action as a probe, its port resolved by the names of the container's ports. The message says
// why it cannot be one. `unknown` gets the names of fields that a handler cannot follow.
Result<probe::Probe> read_action(const Slot& slot, std::vector<std::string>& unknown);

}  // namespace holdfast::inject

// The daemon's roles besides the controller: an agent or a proxy, which today is present, keeps its
// identity and a copy of what the controllers have, and carries nothing yet.
#pragma once

#include <string>
#include <vector>

#include "identity/identity.h"

namespace holdfast::app {

struct NodeRole {
  identity::Role role = identity::Role::Agent;
  std::string data_dir{};
  std::vector<std::string> servers{};  // empty: the one that was joined
  std::string listen{};                // for health and metrics; empty: only on the unix socket
  std::string version{};
};

// Runs until it is told to stop; the exit code.
int run_node(const NodeRole& role);

}  // namespace holdfast::app

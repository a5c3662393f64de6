// The folder that `holdfast join` makes: identity.pem (the key and its certificate, one file so
// that they are never those of two times), ca.pem (whom to trust), node.yaml (where it joined).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "node/held_identity.h"

namespace holdfast::node {

struct LoadedNode {
  HeldIdentity held;
  std::vector<std::string> servers;   // that it joined; empty if they are not known
  std::vector<std::string> warnings;  // what is odd about the folder, and may be meant
};

// kFailedPrecondition HF5017 if nobody joined here; kInvalidArgument HF5018 naming the file that
// cannot be used.
Result<LoadedNode> load_node(const std::string& folder);

// Each file whole or not at all, on disk when it returns. What is trusted is written first: a node
// that stops in between trusts too much rather than too little.
Status save_identity(const std::string& folder, const HeldIdentity& held);
Status save_bundle(const std::string& folder, const HeldIdentity& held);

}  // namespace holdfast::node

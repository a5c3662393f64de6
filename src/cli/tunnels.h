// holdfast get tunnels: which agent reaches which proxy, as the agents announced, or as one node
// says itself.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "cli/commands.h"
#include "cli/table.h"
#include "holdfast/v1/node.pb.h"

namespace holdfast::cli {

// "tunnels" or "tunnel" in any case, also with "/AGENT" behind it.
bool is_tunnels(std::string_view kind);

// Of every agent, or of those named.
Exit get_tunnels(const Session& session, const GetOptions& options);
// Of the node whose socket or data folder `options.node` names. Needs no controller.
Exit get_node_tunnels(const Console& console, const GetOptions& options, Duration timeout);

struct TunnelsText {
  bool wide = false;
  LastColumn last = LastColumn::Cut;
  WallTime now{};
};
// Of agents as they announced; one that has none, or is offline, has a row that says so.
std::string render_tunnels(const std::vector<v1::Resource>& agents, const TunnelsText& how);
// Of one node: an agent's, or what a proxy holds and its links to other proxies.
std::string render_tunnels(const v1::GetTunnelsResponse& node, const TunnelsText& how);

}  // namespace holdfast::cli

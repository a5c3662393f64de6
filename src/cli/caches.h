// holdfast get caches: what every node has in its cache, as the controllers were told, or as one
// node says itself.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "cli/commands.h"
#include "cli/table.h"
#include "holdfast/v1/node.pb.h"

namespace holdfast::cli {

// "caches" or "cache" in any case, also with "/NODE" behind it.
bool is_caches(std::string_view kind);

// Of every proxy and agent, or of those named: "agent/edge-1", or "edge-1" of either kind.
Exit get_caches(const Session& session, const GetOptions& options);

// Of the node whose socket `options.node` names ("unix:/PATH", the socket's path, or the node's
// data folder), asked over HTTP. Needs no controller.
Exit get_node_caches(const Console& console, const GetOptions& options, Duration timeout);

// One node's caches, and how much that is worth.
struct NodeCaches {
  v1::GetCachesResponse said{};
  std::optional<WallTime> heard{};  // when it announced them; absent if it was asked itself
  std::optional<WallTime> offline_since{};
};

// A proxy's or an agent's as it announced them. Of one that is offline every source is "offline",
// whatever it said before it went, and the reason says since when.
NodeCaches caches_of(const v1::Resource& node);

// What a node's socket answers; fields that this version does not know are passed over. kDataLoss
// if it is something else.
Result<v1::GetCachesResponse> parse_caches(std::string_view json);

struct CachesText {
  Output output = Output::Table;
  bool single = false;                // in JSON: the one node, not a list
  LastColumn last = LastColumn::Cut;  // a wide table's is whole
  WallTime now{};
};
std::string render_caches(const std::vector<NodeCaches>& nodes, const CachesText& how);

}  // namespace holdfast::cli

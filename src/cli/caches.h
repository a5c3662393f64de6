// holdfast get caches: what every node has in its cache, as the controllers were told, or as one
// node says itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "cli/commands.h"
#include "holdfast/v1/node.pb.h"

namespace holdfast::cli {

// "caches" or "cache" in any case, also with "/NODE" behind it.
bool is_caches(std::string_view kind);

// Of every proxy and agent, or of those named: "agent/edge-1", or "edge-1" of either kind.
Exit get_caches(const Session& session, const GetOptions& options);

// Of the node whose socket `options.node` names ("unix:/PATH", the socket's path, or the node's
// data folder), asked over HTTP. Needs no controller.
Exit get_node_caches(const Console& console, const GetOptions& options, Duration timeout);

// A proxy's or an agent's as it announced them.
v1::GetCachesResponse caches_of(const v1::Resource& node);

// What a node's socket answers; fields that this version does not know are passed over. kDataLoss
// if it is something else.
Result<v1::GetCachesResponse> parse_caches(std::string_view json);

struct CachesText {
  Output output = Output::Table;
  bool single = false;  // in JSON: the one node, not a list
  WallTime now{};
};
std::string render_caches(const std::vector<v1::GetCachesResponse>& nodes, const CachesText& how);

}  // namespace holdfast::cli

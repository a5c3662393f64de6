// Agents and proxies as a listing shows them: how each is, not only what it said.
#pragma once

#include <string_view>

#include "base/clock.h"
#include "cli/table.h"
#include "holdfast/v1/resource.pb.h"
#include "resource/kind.h"

namespace holdfast::cli {

// Kinds whose rows are these and not columns of the registry.
bool is_node_kind(resource::Kind kind);
Row node_headers(resource::Kind kind, bool wide);
Row node_row(const v1::Resource& node, bool wide, WallTime now);

// "online", "online (HF2133)", "degraded (HF2132)", "draining", "drained", "late", "offline".
std::string node_state(const v1::Resource& node, WallTime now);

}  // namespace holdfast::cli

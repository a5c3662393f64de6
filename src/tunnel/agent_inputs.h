// What others tell an agent, made safe to keep and to log, and what it may tell them.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "holdfast/v1/resource.pb.h"
#include "holdfast/v1/tunnel.pb.h"
#include "tunnel/agent_pool_types.h"

namespace holdfast::tunnel {

// A proxy that the cache tells of.
struct KnownProxy {
  std::string name{};
  v1::Proxy proxy{};
};

// Those that agents can dial.
std::vector<ListedProxy> to_listing(const std::vector<KnownProxy>& proxies);
// Texts are cut to what a log line bears; a code that is none of ours is empty.
Refusal to_refusal(const v1::TunnelRefusal& refusal);
MoveAdvice to_advice(const v1::Advice& advice);

// "HF2103": two letters and four digits.
bool is_reason_code(std::string_view code);

// What fits into a message of a tunnel: the reasons of services that are not healthy are cut, or
// left out, until it does. kInvalidArgument HF2121 if proxies would refuse it (exposed_facts.h).
Result<v1::Exposed> fitting(v1::Exposed exposed);

}  // namespace holdfast::tunnel

// Who carries a service: the agents that expose it, that it selects, and that can be reached.
#pragma once

#include <string>
#include <vector>

#include "holdfast/v1/resource.pb.h"

namespace holdfast::cli {

// As far as the agent announced: it is online and some tunnel of it is there.
bool is_reachable(const v1::Resource& agent);

// "healthy", or "not healthy: HTTP 500".
std::string health_text(const v1::ExposedService& exposed);
// Of a service on an agent that exposes it.
std::string health_text(const v1::Resource& agent, const std::string& service);

// Those that expose it and match its selector, reachable or not.
std::vector<v1::Resource> carriers_of(const v1::Resource& service,
                                      const std::vector<v1::Resource>& agents);

// Empty if some agent carries it now; else why none does, as "no agent exposes it" or "edge-1
// exposes it but has not the label zone=a that it selects".
std::string why_not_carried(const v1::Resource& service, const std::vector<v1::Resource>& agents);

}  // namespace holdfast::cli

// From what travels and what is stored to what an agent's pool is told.
#pragma once

#include <string>
#include <vector>

#include "holdfast/v1/resource.pb.h"
#include "holdfast/v1/tunnel.pb.h"
#include "tunnel/agent_pool_types.h"

namespace holdfast::tunnel {

// At most `most` of them; a peer that lists more is cut short.
std::vector<ProxyInfo> discovered_proxies(const v1::Discovery& discovery, size_t most = 1'024);
ListedProxy listed_proxy(const std::string& name, const v1::Proxy& proxy);
ProxyInfo welcoming_proxy(const v1::TunnelWelcome& welcome);
Refusal read_pool_refusal(const v1::TunnelRefusal& refusal);
MoveAdvice move_advice(const v1::Advice& advice);
// What is not set has its default: two tunnels, none ever closed for being too many, keepalives
// every 2 s of which 3 may be missed.
PoolSettings pool_settings(const v1::NetworkingConfig& config);

}  // namespace holdfast::tunnel

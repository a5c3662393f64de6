#include "cli/carried.h"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::cli {
namespace {

const v1::ExposedService* exposed_by(const v1::Resource& agent, const std::string& service) {
  const auto& services = agent.agent().services();
  const auto found = std::ranges::find(services, service, &v1::ExposedService::service);
  return found == services.end() ? nullptr : &*found;
}

// As proxies see it: these two are the certificate's, whatever the agent says of itself.
std::string label_of(const v1::Resource& agent, const std::string& key) {
  if (key == "holdfast.name") return agent.metadata().name();
  if (key == "holdfast.zone") return agent.agent().zone();
  const auto& labels = agent.metadata().labels();
  const auto found = labels.find(key);
  return found == labels.end() ? "" : found->second;
}

// "zone=a", the first label that the service asks for and the agent has not; empty if it has all.
std::string missing_label(const v1::Resource& service, const v1::Resource& agent) {
  for (const auto& [key, value] : service.service().agent_selector()) {
    if (label_of(agent, key) != value) return fmt::format("{}={}", key, value);
  }
  return "";
}

std::string why_not(const v1::Resource& service, const v1::Resource& agent,
                    const v1::ExposedService& exposed) {
  const std::string& name = agent.metadata().name();
  const std::string missing = missing_label(service, agent);
  if (!missing.empty()) {
    return fmt::format("{} exposes it but has not the label {} that it selects", name, missing);
  }
  if (agent.agent().announcement().has_offline_since()) {
    return fmt::format("{} exposes it but is offline", name);
  }
  if (agent.agent().tunnels().empty()) {
    return fmt::format("{} exposes it but has no tunnel to a proxy", name);
  }
  return fmt::format("{} exposes it but it is not healthy there{}{}", name,
                     exposed.reason().empty() ? "" : ": ", exposed.reason());
}

}  // namespace

bool is_reachable(const v1::Resource& agent) {
  return !agent.agent().announcement().has_offline_since() && !agent.agent().tunnels().empty();
}

std::string health_text(const v1::ExposedService& exposed) {
  if (exposed.healthy()) return "healthy";
  return fmt::format("not healthy{}{}", exposed.reason().empty() ? "" : ": ", exposed.reason());
}

std::string health_text(const v1::Resource& agent, const std::string& service) {
  const v1::ExposedService* exposed = exposed_by(agent, service);
  return exposed == nullptr ? "" : health_text(*exposed);
}

std::vector<v1::Resource> carriers_of(const v1::Resource& service,
                                      const std::vector<v1::Resource>& agents) {
  std::vector<v1::Resource> carriers;
  for (const v1::Resource& agent : agents) {
    const bool exposed = exposed_by(agent, service.metadata().name()) != nullptr;
    if (exposed && missing_label(service, agent).empty()) carriers.push_back(agent);
  }
  return carriers;
}

std::string why_not_carried(const v1::Resource& service, const std::vector<v1::Resource>& agents) {
  // With endpoints of its own it may be for kernels alone.
  const auto exposes = [&](const v1::Resource& agent) {
    return exposed_by(agent, service.metadata().name()) != nullptr;
  };
  if (!service.service().endpoints().empty() && std::ranges::none_of(agents, exposes)) return "";
  std::string first;
  size_t others = 0;
  for (const v1::Resource& agent : agents) {
    const v1::ExposedService* exposed = exposed_by(agent, service.metadata().name());
    if (exposed == nullptr) continue;
    if (exposed->healthy() && is_reachable(agent) && missing_label(service, agent).empty()) {
      return "";
    }
    if (first.empty()) {
      first = why_not(service, agent, *exposed);
    } else {
      others += 1;
    }
  }
  if (first.empty()) return "no agent exposes it";
  return others == 0 ? first : fmt::format("{}, nor do {} others carry it", first, others);
}

}  // namespace holdfast::cli

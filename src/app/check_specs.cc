#include "app/check_specs.h"

#include <fmt/format.h>

#include <utility>

#include "base/reason.h"

namespace holdfast::app {
namespace {

using config::CheckConfig;

probe::Probe probe_of(const CheckConfig& check, const tunnel::Target& target) {
  probe::Probe probe{.port = check.port != 0 ? check.port : target.port,
                     .host = target.host.empty() ? "127.0.0.1" : target.host,
                     .timeout = check.timeout};
  switch (check.kind) {
    case CheckConfig::Kind::Http: {
      probe::HttpGet get{.path = check.path, .tls = check.tls};
      for (const auto& [name, value] : check.headers) get.headers.push_back({name, value});
      probe.action = std::move(get);
      break;
    }
    case CheckConfig::Kind::Tcp:
      probe.action = probe::TcpSocket{};
      break;
    case CheckConfig::Kind::Grpc:
      probe.action = probe::Grpc{.service = check.service, .tls = check.tls};
      break;
  }
  return probe;
}

}  // namespace

Result<std::vector<probe::CheckSpec>> check_specs(const config::CheckConfigs& checks,
                                                  const tunnel::TargetTable& targets) {
  std::vector<probe::CheckSpec> specs;
  for (const auto& [name, check] : checks) {
    const size_t slash = name.find('/');
    const std::string service = name.substr(0, slash);
    const std::string port = slash == std::string::npos ? "" : name.substr(slash + 1);
    const tunnel::Target* target = targets.find(service, port, nullptr);
    const bool has_port = target != nullptr && (target->port != 0 || check.port != 0);
    if (!has_port) {
      return coded(absl::StatusCode::kInvalidArgument, "HF2151",
                   fmt::format("the check of {} has nothing to probe: {}", name,
                               target == nullptr ? "agent.services does not expose it"
                                                 : "a unix socket needs a port beside it"));
    }
    specs.push_back({.name = name,
                     .service = service,
                     .probe = probe_of(check, *target),
                     .times = {.initial_delay = check.initial_delay,
                               .period = check.period,
                               .failure_threshold = check.failure_threshold,
                               .success_threshold = check.success_threshold}});
  }
  return specs;
}

}  // namespace holdfast::app

#include "api/node_service.h"

#include <fmt/format.h>

#include "identity/rotation.h"
#include "resource/proto_time.h"
#include "resource/registry.h"

namespace holdfast::api {
namespace {

using identity::Role;

v1::HealthState to_proto(health::State state) {
  return static_cast<v1::HealthState>(static_cast<int>(state));
}

v1::ComponentStatus to_proto(const health::Component& component, Time now, WallTime wall) {
  v1::ComponentStatus status;
  status.set_name(component.name);
  status.set_state(to_proto(component.state));
  const auto age = std::chrono::duration_cast<WallTime::duration>(now - component.since);
  *status.mutable_since() = resource::to_proto(wall - age);
  status.set_code(component.code);
  status.set_reason(component.reason);
  return status;
}

void add_count(std::string_view kind, health::NodeCounts counts, v1::GetStatusResponse& status) {
  v1::NodeCount& node = *status.add_nodes();
  node.set_kind(std::string(kind));
  node.set_online(counts.online);
  node.set_offline(counts.offline);
}

// Where an announcement says in which zone the node is.
const std::string& zone_of(const v1::Resource& node) {
  if (node.has_controller()) return node.controller().zone();
  return node.has_proxy() ? node.proxy().zone() : node.agent().zone();
}

}  // namespace

Status NodeService::allow_as(const Caller& caller, std::string_view verb, const std::string& kind,
                             const std::string& name) {
  const identity::Identity& who = caller.identity;
  if (who.role == Role::Local) return absl::OkStatus();
  if (identity::to_string(who.role) == kind && who.name == name) return absl::OkStatus();
  return parts_.gate.refuse(caller, verb, fmt::format("{}/{}", kind, name),
                            identity::refused(who, fmt::format("{} for another node", verb)));
}

asio::awaitable<Result<v1::AnnounceResponse>> NodeService::announce(Caller caller,
                                                                    v1::AnnounceRequest request) {
  const std::optional<resource::Kind> kind = resource::kind_of(request.resource());
  if (!kind || !resource::info(*kind).is_presence) {
    co_return absl::InvalidArgumentError("resource: announce a controller, a proxy or an agent");
  }
  const std::string kind_name(resource::info(*kind).name);
  CO_TRY_OK(allow_as(caller, "announce", kind_name, request.resource().metadata().name()));
  const std::string& zone = caller.identity.zone;
  if (!zone.empty() && zone_of(request.resource()) != zone) {
    co_return parts_.gate.refuse(
        caller, "announce", kind_name,
        identity::refused(caller.identity, "announce itself in a zone that is not its own"));
  }
  // What it is called with, whatever it says: rotation goes by it.
  if (caller.identity.role != Role::Local) request.set_issuer_pin(caller.issuer_pin);
  co_return co_await parts_.presence.announce(std::move(request), caller.expires);
}

asio::awaitable<Result<v1::GoodbyeResponse>> NodeService::goodbye(Caller caller,
                                                                  v1::GoodbyeRequest request) {
  CO_TRY_OK(allow_as(caller, "goodbye", request.kind(), request.name()));
  co_return co_await parts_.presence.goodbye(std::move(request));
}

asio::awaitable<Result<v1::GetServiceConfigResponse>> NodeService::get_service_config(
    Caller /*caller*/, v1::GetServiceConfigRequest /*request*/) {
  v1::GetServiceConfigResponse response;
  *response.mutable_config() = options_.service_config;
  co_return response;
}

asio::awaitable<Result<v1::GetStatusResponse>> NodeService::get_status(
    Caller /*caller*/, v1::GetStatusRequest /*request*/) {
  co_return status();
}

v1::GetStatusResponse NodeService::status() const {
  const Time now = parts_.clock.now();
  const WallTime wall = parts_.clock.wall_now();
  v1::GetStatusResponse status;
  status.set_controller(options_.controller_name);
  status.set_version(options_.version);
  *status.mutable_now() = resource::to_proto(wall);
  *status.mutable_started() = resource::to_proto(options_.started);
  status.set_state(to_proto(parts_.health.state()));
  for (const health::Component& component : parts_.health.components()) {
    *status.add_components() = to_proto(component, now, wall);
  }
  status.set_store(options_.store);
  status.set_tasks_holder(parts_.tenure.holder());
  status.set_revision(parts_.fan_out.latest());
  using health::NodeKind;
  add_count("controller", parts_.presence.counts(NodeKind::Controller), status);
  add_count("proxy", parts_.presence.counts(NodeKind::Proxy), status);
  add_count("agent", parts_.presence.counts(NodeKind::Agent), status);
  status.set_watchers(parts_.fan_out.watcher_count());
  if (options_.describe_pair) options_.describe_pair(status);
  const Result<v1::CertAuthority> authority = parts_.authority.authority();
  if (!authority.ok()) return status;
  status.set_cluster(authority->cluster());
  status.set_phase(authority->phase());
  const auto pins = identity::trusted_pins(*authority);
  if (pins.ok()) status.mutable_pins()->Assign(pins->begin(), pins->end());
  const auto key = identity::signing_key(*authority);
  const auto life = key.ok() ? identity::validity_of(key->certificate_pem) : key.status();
  if (life.ok()) *status.mutable_authority_expires() = resource::to_proto(life->not_after);
  if (parts_.authority.certificate()) {
    *status.mutable_certificate_expires() =
        resource::to_proto(parts_.authority.certificate()->expires);
  }
  return status;
}

}  // namespace holdfast::api

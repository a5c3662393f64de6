#include "app/agent_part.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/check_specs.h"
#include "app/metric_totals.h"
#include "base/check.h"
#include "base/log.h"
#include "base/reason.h"
#include "identity/identity.h"
#include "resource/proto_time.h"
#include "tunnel/agent_inputs.h"

namespace holdfast::app {
namespace {

using resource::Kind;

// So that an announcement stays below what a controller takes.
constexpr size_t kMostServicesBytes = 32 << 10;

tunnel::AgentIdentity agent_identity(const node::HeldIdentity& held) {
  return {.private_key_pem = held.private_key_pem,
          .certificate_pem = held.certificate_pem,
          .ca_pem = held.ca_pem};
}

v1::Exposed exposed_of(const tunnel::TargetTable& targets, const config::AgentSection& config) {
  v1::Exposed exposed;
  for (const std::string& name : targets.services()) {
    v1::ExposedService& service = *exposed.add_services();
    service.set_service(name);
    service.set_healthy(true);
  }
  for (const std::string& label : config.labels) {
    const size_t equals = label.find('=');
    (*exposed.mutable_labels())[label.substr(0, equals)] = label.substr(equals + 1);
  }
  return exposed;
}

// As many as the cluster asks for, whether there are proxies for them or not.
uint32_t wanted(const tunnel::PoolView& pool) {
  return pool.connection_count == 0 ? static_cast<uint32_t>(pool.desired_count)
                                    : pool.connection_count;
}

double seconds_of(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

Result<std::unique_ptr<NodePart>> AgentPart::make(const PartWorld& world,
                                                  const AgentPartOptions& options) {
  tunnel::AgentOptions made{.version = options.version, .seed = options.seed};
  made.forward.max_per_target = options.config.limits.connections;
  made.link.session.max_streams =
      static_cast<uint32_t>(std::min<size_t>(options.config.limits.connections, tunnel::kMaxSlots));
  TRY(std::unique_ptr<tunnel::AgentService> agent,
      tunnel::AgentService::make(world.loop, world.clock, std::move(made),
                                 agent_identity(world.held)));
  std::unique_ptr<AgentPart> part(new AgentPart(world, std::move(agent), options));
  TRY_OK(part->use(options.config, options.probe));
  part->agent_->set_bootstrap(options.config.proxies);
  return part;
}

AgentPart::AgentPart(const PartWorld& world, std::unique_ptr<tunnel::AgentService> agent,
                     const AgentPartOptions& options)
    : registry_(world.registry),
      changed_(world.changed),
      view_(world.published),
      node_(identity::to_string(world.held.who)),
      zone_(world.held.who.zone),
      checks_(world.loop, world.clock, options.seed),
      probes_(world, options.config.probe_listen, options.probe),
      tracking_(world, options.config.tracking, options.seed),
      agent_(std::move(agent)) {
  agent_->on_change(world.changed);
  checks_.on_change([this] { tell_health(); });
  agent_->set_services([this](const std::string& name) { return find_service(view_, name); });
}

Status AgentPart::use(const config::AgentSection& config, const config::ProbeSection& probe) {
  TRY(tunnel::TargetTable targets, tunnel::TargetTable::parse(config.services));
  TRY(const std::vector<probe::CheckSpec> specs, check_specs(config.checks, targets));
  v1::Exposed exposed = exposed_of(targets, config);
  TRY_OK(tunnel::fitting(exposed).status());
  TRY_OK(probes_.use(probe, specs));
  checks_.set(specs, targets);
  checks_.judge(exposed);
  TRY_OK(agent_->set_exposed(exposed));
  agent_->set_targets(std::move(targets));
  agent_->set_stop_timeout(config.stop_timeout);
  tracking_.use(config.tracking);
  exposed_ = std::move(exposed);
  return absl::OkStatus();
}

void AgentPart::tell_health() {
  checks_.judge(exposed_);
  const Status told = agent_->set_exposed(exposed_);
  HF_CHECK(told.ok(), "what fits does so whatever the health is");
  changed_();
}

void AgentPart::start() {
  started_ = true;
  checks_.start();
  tracking_.start();
  agent_->start();
}

asio::awaitable<void> AgentPart::stop() {
  co_await probes_.stop();
  if (!started_) co_return;
  co_await checks_.stop();
  co_await agent_->stop();
  co_await tracking_.stop();
}

void AgentPart::set_identity(const node::HeldIdentity& held) {
  const Status used = agent_->set_identity(agent_identity(held));
  if (!used.ok()) log::error("tunnels keep the old identity", {{"why", used.ToString()}});
}

void AgentPart::follow_cache() {
  if (proxies_mark_.moved(view_.read<Kind::Proxy>())) {
    agent_->set_proxies(all_proxies<tunnel::KnownProxy>(view_));
  }
  if (settings_mark_.moved(view_.read<Kind::NetworkingConfig>())) {
    agent_->set_settings(networking_config(view_));
  }
  tracking_.follow_cache(view_);
}

void AgentPart::describe(v1::Resource& entry) const {
  v1::Agent& agent = *entry.mutable_agent();
  entry.mutable_metadata()->mutable_labels()->insert(exposed_.labels().begin(),
                                                     exposed_.labels().end());
  size_t bytes = 0;
  for (const v1::ExposedService& service : exposed_.services()) {
    bytes += service.ByteSizeLong();
    if (bytes > kMostServicesBytes) break;
    *agent.add_services() = service;
  }
  for (v1::AgentTunnel& tunnel : agent_->describe()) *agent.add_tunnels() = std::move(tunnel);
  for (const std::string& proxy : agent_->proxies()) agent.add_proxies(proxy);
  const tunnel::PoolView pool = agent_->pool();
  agent.set_tunnels_wanted(wanted(pool));
  agent.set_code(pool.shortfall_code);
  agent.set_reason(pool.shortfall);
  tracking_.describe(agent);
  if (agent_->last_frame() != WallTime()) {
    *agent.mutable_last_tunnel_frame() = resource::to_proto(agent_->last_frame());
  }
}

v1::GetTunnelsResponse AgentPart::tunnels() const {
  v1::GetTunnelsResponse response;
  response.set_node(node_);
  response.set_zone(zone_);
  for (v1::AgentTunnel& tunnel : agent_->describe()) *response.add_tunnels() = std::move(tunnel);
  response.set_wanted(wanted(agent_->pool()));
  return response;
}

Status AgentPart::drain(const v1::DrainRequest&) {
  return coded(absl::StatusCode::kFailedPrecondition, "HF6011",
               "an agent is not drained; stop it, and it says goodbye on its tunnels");
}

v1::DrainStatus AgentPart::drain_status() {
  v1::DrainStatus status;
  status.set_node(node_);
  status.set_phase("running");
  status.set_tunnels(static_cast<uint32_t>(agent_->stats().tunnels));
  status.set_streams(static_cast<uint32_t>(agent_->streams()));
  return status;
}

// Fewer than there should be is for operators; none at all means that nobody can be reached here.
// With a tunnel to every proxy there is, the agent is as well as it can be.
ComponentReport AgentPart::tunnels_report() const {
  const tunnel::PoolView pool = agent_->pool();
  const bool well = pool.shortfall_code.empty() || pool.has_all_there_are;
  if (pool.usable > 0 && well) return {.component = "tunnels", .status = absl::OkStatus()};
  const std::string code = pool.shortfall_code.empty() ? "HF2140" : pool.shortfall_code;
  std::string why = pool.shortfall.empty() ? "no tunnel yet" : pool.shortfall;
  if (!agent_->last_failure().empty()) why += "; last: " + agent_->last_failure();
  return {.component = "tunnels",
          .status = coded(absl::StatusCode::kUnavailable, code, why),
          .is_warning = pool.usable > 0 || exposed_.services().empty()};
}

std::vector<ComponentReport> AgentPart::reports() const {
  std::vector<ComponentReport> all = {tunnels_report(), checks_.report()};
  tracking_.add_report(all);
  return all;
}

void AgentPart::update_metrics() {
  MetricTotals metrics(registry_);
  const tunnel::PoolView pool = agent_->pool();
  const auto set = [&](const char* name, const char* help, double value) {
    metrics.set({name, help}, {}, value);
  };
  set("holdfast_agent_tunnels", "Tunnels that take connections now.",
      static_cast<double>(pool.usable));
  set("holdfast_agent_tunnels_wanted", "Tunnels that the cluster asks for.", wanted(pool));
  set("holdfast_agent_dials_inflight", "Proxies that are being dialled.",
      static_cast<double>(pool.inflight));
  set("holdfast_agent_proxies_tracked", "Proxies that were heard from within their time.",
      static_cast<double>(pool.tracked));
  const metrics::Description ignored{"holdfast_agent_proxies_ignored_total",
                                     "Times a proxy was told of that is beyond what is kept."};
  metrics.count(ignored, {{"why", "full"}}, pool.tracker.ignored_full);
  metrics.count(ignored, {{"why", "bad"}}, pool.tracker.ignored_bad);
  set("holdfast_agent_connections", "Connections that run through its tunnels.",
      static_cast<double>(agent_->streams()));
  checks_.update_metrics(registry_);
  count_dials();
  count_pool();
  count_streams();
  show_links();
}

void AgentPart::show_links() {
  MetricTotals metrics(registry_);
  std::optional<Duration> shortest;
  Duration longest = Duration::zero();
  for (const tunnel::TunnelView& one : agent_->pool().tunnels) {
    if (!one.round_trip) continue;
    shortest = std::min(shortest.value_or(*one.round_trip), *one.round_trip);
    longest = std::max(longest, *one.round_trip);
  }
  const metrics::Description round_trip{"holdfast_agent_round_trip_seconds",
                                        "Smoothed round trips of its tunnels."};
  metrics.set(round_trip, {{"which", "shortest"}}, seconds_of(shortest.value_or(Duration::zero())));
  metrics.set(round_trip, {{"which", "longest"}}, seconds_of(longest));
  const tunnel::LinkBuffers& buffers = agent_->buffers();
  metrics.set({"holdfast_agent_kept_bytes", "Bytes kept for those who read slowly."}, {},
              static_cast<double>(buffers.kept_bytes()));
  const metrics::Description slow{"holdfast_agent_slow_readers_total",
                                  "Streams refused or cut because too much was kept."};
  metrics.count(slow, {{"what", "refused"}}, buffers.refused_streams());
  metrics.count(slow, {{"what", "cut"}}, buffers.cut_streams());
}

void AgentPart::count_pool() {
  MetricTotals metrics(registry_);
  const tunnel::PoolView pool = agent_->pool();
  const auto count = [&](const char* what, uint64_t total) {
    metrics.count({"holdfast_agent_pool_total", "What the choice of proxies has met."},
                  {{"what", what}}, total);
  };
  count("refused", pool.stats.refused);
  count("failed", pool.stats.failed);
  count("advice_withdrawn", pool.stats.advice_withdrawn);
  count("renewed", pool.stats.renewed);
  count("drained_advised", pool.stats.drained_advised);
  count("drained_surplus", pool.stats.drained_surplus);
  count("drained_expired", pool.stats.drained_expired);
  count("overdue_dials", pool.stats.overdue_dials);
  count("gave_way", pool.stats.gave_way);
  count("wrong_name", pool.stats.wrong_name);
  const auto tracked = [&](const char* what, uint64_t total) {
    metrics.count({"holdfast_agent_tracker_total", "What became of proxies that it was told of."},
                  {{"what", what}}, total);
  };
  tracked("ignored_full", pool.tracker.ignored_full);
  tracked("ignored_bad", pool.tracker.ignored_bad);
  tracked("expired", pool.tracker.expired);
  tracked("denied", pool.tracker.denied);
}

void AgentPart::count_streams() {
  MetricTotals metrics(registry_);
  const tunnel::SessionStats sessions = agent_->sessions();
  const auto count = [&](const char* what, uint64_t total) {
    metrics.count({"holdfast_agent_session_streams_total", "What became of streams in tunnels."},
                  {{"what", what}}, total);
  };
  count("opened", sessions.opened);
  count("refused", sessions.refused);
  count("given_up", sessions.given_up);
  count("reset", sessions.resets);
  const tunnel::ForwardStats& forward = agent_->forwarded();
  count("cancelled", forward.cancelled);
  count("cut", forward.cut);
  const metrics::Description bytes{"holdfast_agent_carried_bytes_total",
                                   "Bytes of connections that are over."};
  metrics.count(bytes, {{"direction", "to_applications"}}, forward.bytes_in);
  metrics.count(bytes, {{"direction", "from_applications"}}, forward.bytes_out);
  metrics.count(
      {"holdfast_agent_dropped_bytes_total", "Bytes that came for connections that were over."}, {},
      sessions.bytes_dropped);
}

void AgentPart::count_dials() {
  MetricTotals metrics(registry_);
  const tunnel::AgentStats& stats = agent_->stats();
  const tunnel::ForwardStats& forward = agent_->forwarded();
  const auto count = [&](const char* name, const char* help, uint64_t total) {
    metrics.count({name, help}, {}, total);
  };
  count("holdfast_agent_dials_total", "Proxies dialled.", stats.dials);
  for (const auto& [code, total] : stats.failures) {
    metrics.count({"holdfast_agent_failed_dials_total", "Dials that came to nothing."},
                  {{"code", code}}, total);
  }
  count("holdfast_agent_tunnels_made_total", "Tunnels that were made.", stats.connected);
  count("holdfast_agent_claims_refused_total", "Times a proxy that was had already answered.",
        stats.claims_refused);
  count("holdfast_agent_advised_total", "Times a proxy advised to move.", stats.advised);
  count("holdfast_agent_tunnels_drained_total", "Tunnels that ended in good order.", stats.drained);
  for (const auto& [code, total] : stats.losses) {
    metrics.count({"holdfast_agent_tunnels_lost_total", "Tunnels that broke, by how."},
                  {{"code", code}}, total);
  }
  count("holdfast_agent_recoveries_total", "Times there were enough tunnels again after a loss.",
        stats.recoveries);
  metrics.set({"holdfast_agent_last_recovery_seconds", "How long the last of these took."}, {},
              seconds_of(stats.last_recovery));
  const auto refuse = [&](const char* why, uint64_t total) {
    metrics.count({"holdfast_agent_refused_connections_total", "Connections that were refused."},
                  {{"why", why}}, total);
  };
  count("holdfast_agent_accepted_connections_total", "Connections that reached an application.",
        forward.accepted);
  refuse("refused", forward.refused);
  refuse("timeout", forward.timed_out);
  refuse("not_exposed", forward.not_exposed);
  refuse("unhealthy", forward.unhealthy);
  refuse("limit", forward.over_limit);
  refuse("malformed", forward.malformed);
  refuse("draining", forward.draining);
}

}  // namespace holdfast::app

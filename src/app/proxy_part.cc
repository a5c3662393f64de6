#include "app/proxy_part.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "app/node_calls.h"
#include "base/log.h"
#include "base/reason.h"
#include "config/addresses.h"
#include "identity/certificate.h"
#include "identity/identity.h"
#include "identity/permissions.h"
#include "net/http_address.h"
#include "resource/proto_time.h"
#include "resource/registry.h"
#include "web/answer.h"

namespace holdfast::app {
namespace {

using resource::Kind;

// For those at the door to say what they want, once no new ones come.
constexpr Duration kDoorPatience = std::chrono::seconds(10);
constexpr Duration kDoorPoll = std::chrono::milliseconds(20);
// Longer than between two questions of `holdfast proxy drain`.
constexpr Duration kFollowerPause = std::chrono::milliseconds(1'500);

tunnel::ProxyIdentity proxy_identity(const node::HeldIdentity& held) {
  return {.certificate_pem = held.certificate_pem,
          .private_key_pem = held.private_key_pem,
          .ca_pem = held.ca_pem};
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::string advertise_host(const config::ProxySection& config, const node::HeldIdentity& held) {
  if (!config.advertise_host.empty()) return config.advertise_host;
  const Result<std::vector<std::string>> hosts = identity::hosts_of(held.certificate_pem);
  return hosts.ok() && !hosts->empty() ? hosts->front() : host_name();
}

tunnel::ProxyOptions proxy_options(const PartWorld& world, const ProxyPartOptions& options) {
  const config::ProxySection& config = options.config;
  tunnel::ProxyOptions made;
  made.name = world.held.who.name;
  made.cluster = world.held.who.cluster;
  made.zone = world.held.who.zone;
  made.group = config.group;
  made.generation = config.generation;
  made.version = options.version;
  made.boot = options.seed;
  made.seed = options.seed;
  made.tunnel_listen = config.tunnel_listen;
  made.peer_listen = config.peer_listen;
  made.advertise_host = advertise_host(config, world.held);
  made.admission.max_handshakes = static_cast<uint32_t>(config.limits.handshakes);
  made.admission.tunnels_per_second = static_cast<uint32_t>(config.limits.tunnels_per_second);
  made.admission.burst = static_cast<uint32_t>(config.limits.tunnel_burst);
  made.admission.max_unauthenticated_per_address =
      static_cast<uint32_t>(config.limits.strangers_per_address);
  made.tunnels.max_tunnels = config.limits.tunnels;
  made.tunnels.max_per_agent = config.limits.tunnels_per_agent;
  made.drain.deadline = config.drain_timeout;
  return made;
}

ingress::IngressOptions ingress_options(const config::ProxySection& config) {
  ingress::IngressOptions made;
  made.max_connections = config.limits.connections;
  // However many one client opens, there is room for others.
  made.max_connections_per_address = std::max<uint64_t>(1, config.limits.connections / 4 * 3);
  made.reuse_port = config.reuse_port;
  return made;
}

Status not_known(Kind kind) {
  return coded(absl::StatusCode::kUnavailable, "HF2305",
               fmt::format("what {} there are is not known now", resource::info(kind).plural));
}

// kNotFound if there is none, kUnavailable if nobody knows.
template <Kind K>
Result<typename cache::BodyOf<K>::Body> look_up(cache::View& view, const std::string& name) {
  const auto all = view.read<K>();
  if (!all) return not_known(K);
  if (const auto found = all.find(name)) return found->body;
  return absl::NotFoundError(name);
}

Result<v1::Resource> look_up_service(cache::View& view, const std::string& name) {
  const auto all = view.read<Kind::Service>();
  if (!all) return not_known(Kind::Service);
  const auto found = all.find(name);
  if (!found) return absl::NotFoundError(name);
  v1::Resource out = resource::make_resource(Kind::Service, name);
  *out.mutable_metadata() = found->metadata;
  *out.mutable_service() = found->body;
  return out;
}

void set_round_trip(auto& row, const std::optional<Duration>& round_trip) {
  if (round_trip) *row.mutable_round_trip() = resource::to_proto(*round_trip);
}

v1::HeldTunnel to_proto(const tunnel::TunnelStatus& status) {
  v1::HeldTunnel row;
  row.set_agent(status.agent);
  row.set_zone(status.zone);
  row.set_address(status.address);
  row.set_version(status.version);
  row.set_state(status.state);
  *row.mutable_since() = resource::to_proto(status.since);
  set_round_trip(row, status.round_trip);
  row.set_streams(static_cast<uint32_t>(status.streams));
  for (const std::string& service : status.services) row.add_services(service);
  return row;
}

v1::PeerLink to_proto(const tunnel::PeerStatus& status) {
  v1::PeerLink row;
  row.set_proxy(status.name);
  row.set_zone(status.zone);
  row.set_address(status.address);
  row.set_state(status.state);
  *row.mutable_since() = resource::to_proto(status.since);
  set_round_trip(row, status.round_trip);
  row.set_streams(static_cast<uint32_t>(status.streams));
  row.set_agents(static_cast<uint32_t>(status.agents));
  row.set_reason(status.reason);
  return row;
}

}  // namespace

Result<std::unique_ptr<NodePart>> ProxyPart::make(const PartWorld& world,
                                                  const ProxyPartOptions& options) {
  std::vector<ingress::ListenerSpec> listeners;
  for (const std::string& text : config::ingress_specs(options.config.ingress)) {
    TRY(ingress::ListenerSpec spec, ingress::parse_listener_spec(text));
    listeners.push_back(std::move(spec));
  }
  return std::unique_ptr<NodePart>(new ProxyPart(world, options, std::move(listeners)));
}

ProxyPart::ProxyPart(const PartWorld& world, const ProxyPartOptions& options,
                     std::vector<ingress::ListenerSpec> listeners)
    : clock_(world.clock),
      world_(world),
      options_(options),
      listeners_(std::move(listeners)),
      node_(identity::to_string(world.held.who)),
      zone_(world.held.who.zone),
      advertise_host_(advertise_host(options.config, world.held)),
      view_(world.published),
      proxy_({.loop = world.loop,
              .clock = world.clock,
              .registry = world.registry,
              .buffers = buffers_},
             proxy_options(world, options), asks()),
      ingress_({.loop = world.loop,
                .clock = world.clock,
                .registry = world.registry,
                .dialer = proxy_,
                .lookups = lookups(),
                .handler = [this](const ingress::PublicCall& call) { return answer(call); }},
               ingress_options(options.config)),
      load_metrics_(world.registry, zone_),
      tasks_(world.loop) {
  identity_status_ = use_identity(world.held);
}

tunnel::ProxyService::Asks ProxyPart::asks() {
  tunnel::ProxyService::Asks asks;
  asks.service = [this](const std::string& name) -> Result<std::optional<v1::Service>> {
    Result<v1::Service> found = look_up<Kind::Service>(view_, name);
    if (absl::IsNotFound(found.status())) return std::nullopt;
    TRY_OK(found.status());
    return *std::move(found);
  };
  asks.announce_draining = [this] { return world_.announce_within(std::chrono::seconds(2)); };
  asks.ready = [this] { ingress_.open(); };
  asks.close_ingress = [this] { return close_ingress(); };
  asks.load_due = [this] { world_.load_due(); };
  return asks;
}

ingress::Lookups ProxyPart::lookups() {
  return {.service = [this](const std::string& name) { return look_up_service(view_, name); },
          .role = [this](const std::string& name) { return look_up<Kind::Role>(view_, name); },
          .user = [this](const std::string& name) { return look_up<Kind::User>(view_, name); }};
}

Result<std::vector<std::string>> ProxyPart::listen() {
  TRY_OK(identity_status_);
  TRY(addresses_, proxy_.listen());
  std::vector<std::string> all = {addresses_.tunnel, addresses_.peer};
  for (const ingress::ListenerSpec& spec : listeners_) {
    TRY(const std::string address, ingress_.listen(spec));
    all.push_back(address);
  }
  if (options_.config.public_listen.empty()) return all;
  TRY(const std::string address, ingress_.listen_public(options_.config.public_listen));
  public_address_ = advertised(address);
  all.push_back(address);
  return all;
}

std::string ProxyPart::advertised(const std::string& address) const {
  return net::join_host_port(advertise_host_, config::port_of(address));
}

void ProxyPart::start() {
  started_ = true;
  proxy_.start();
}

asio::awaitable<void> ProxyPart::stop() {
  if (started_) {
    co_await proxy_.drain(options_.config.drain_timeout);
    co_await let_followers_hear();
  }
  co_await ingress_.stop();
  co_await proxy_.stop();
  co_await tasks_.join();
}

// Whoever follows the drain asks every half second, and wants to know how it ended.
asio::awaitable<void> ProxyPart::let_followers_hear() {
  const Time begun = clock_.now();
  const bool followed = asked_ && *asked_ + kFollowerPause > begun;
  while (followed && !told_end_ && clock_.now() < begun + kFollowerPause) {
    const bool slept = co_await net::pause(kDoorPoll);
    if (!slept) co_return;
  }
}

Status ProxyPart::use_identity(const node::HeldIdentity& held) {
  TRY_OK(proxy_.set_identity(proxy_identity(held)));
  TRY_OK(ingress_.set_trust(held.who.cluster, held.ca_pem));
  return ingress_.set_identity(held.certificate_pem, held.private_key_pem);
}

void ProxyPart::set_identity(const node::HeldIdentity& held) {
  const Status used = use_identity(held);
  if (!used.ok()) log::error("tunnels keep the old identity", {{"why", used.ToString()}});
}

Status ProxyPart::set_config(const config::Config& config) {
  options_.config.drain_timeout = config.proxy.drain_timeout;
  return absl::OkStatus();
}

void ProxyPart::follow_cache() {
  const bool proxies_moved = proxies_mark_.moved(view_.read<Kind::Proxy>());
  const bool services_moved = services_mark_.moved(view_.read<Kind::Service>());
  const bool zones_moved = zones_mark_.moved(view_.read<Kind::ZoneMap>());
  const std::string own = node_.substr(node_.find('/') + 1);
  if (proxies_moved) {
    proxy_.set_proxies(all_proxies<tunnel::CachedProxy>(view_));
    if (const auto ttl = announce_ttl_in(view_, own)) proxy_.set_announce_ttl(*ttl);
  }
  const bool all_moved = services_moved || zones_moved;
  // Every heartbeat moves the proxies.
  const size_t holders = proxies_moved ? holders_in(view_, own) : load_.holders;
  if (all_moved) load_ = proxy_load(view_, own);
  if (all_moved || std::exchange(load_.holders, holders) != holders) proxy_.set_load(load_);
  if (settings_mark_.moved(view_.read<Kind::NetworkingConfig>())) {
    proxy_.set_settings(networking_config(view_));
  }
  // How many there are is part of what is announced, and nothing else says when it changes.
  const size_t tunnels = proxy_.tunnel_count();
  if (std::exchange(noted_tunnels_, tunnels) != tunnels) world_.changed();
}

void ProxyPart::update_metrics() {
  proxy_.update_metrics();
  load_metrics_.show(proxy_.places(), listed_zones(view_));
}

void ProxyPart::describe(v1::Resource& entry) const {
  v1::Proxy& proxy = *entry.mutable_proxy();
  const tunnel::ProxyStatus status = proxy_.describe();
  proxy.set_tunnel_address(addresses_.tunnel);
  proxy.set_peer_address(addresses_.peer);
  proxy.set_public_address(public_address_);
  proxy.set_group(options_.config.group);
  proxy.set_generation(options_.config.generation);
  *proxy.mutable_announce_ttl() = resource::to_proto(proxy_.announce_ttl());
  proxy.set_draining(proxy_.draining());
  proxy.set_tunnels(static_cast<uint32_t>(status.tunnels.size()));
  proxy.set_peers(static_cast<uint32_t>(
      std::ranges::count(status.peers, std::string_view("connected"), &tunnel::PeerStatus::state)));
  proxy.set_streams(static_cast<uint32_t>(status.drain.streams));
  for (const ComponentReport& report : reports()) {
    if (report.status.ok()) continue;
    const Reason reason = split_reason(report.status);
    proxy.set_code(std::string(reason.code));
    proxy.set_reason(std::string(reason.message));
  }
}

v1::GetTunnelsResponse ProxyPart::tunnels() const {
  v1::GetTunnelsResponse response;
  response.set_node(node_);
  response.set_zone(zone_);
  const tunnel::ProxyStatus status = proxy_.describe();
  for (const tunnel::TunnelStatus& row : status.tunnels) *response.add_held() = to_proto(row);
  for (const tunnel::PeerStatus& row : status.peers) *response.add_peers() = to_proto(row);
  return response;
}

// A proxy that has drained stays as it is, for others to see, until it is stopped.
Status ProxyPart::drain(const v1::DrainRequest& request) {
  const Duration asked = resource::to_duration(request.timeout());
  const Duration timeout = request.has_timeout() ? asked : Duration(options_.config.drain_timeout);
  if (request.has_timeout()) proxy_.shorten_drain(timeout);
  if (!proxy_.draining()) tasks_.spawn(run_drain(timeout));
  if (request.now()) proxy_.drain_now();
  return absl::OkStatus();
}

asio::awaitable<void> ProxyPart::run_drain(Duration timeout) {
  co_await proxy_.drain(timeout);
  world_.changed();
}

v1::DrainStatus ProxyPart::drain_status() {
  const tunnel::DrainProgress progress = proxy_.describe().drain;
  asked_ = clock_.now();
  told_end_ = progress.ended.has_value();
  v1::DrainStatus status;
  status.set_node(node_);
  const bool closing = progress.phase == tunnel::DrainPhase::Closed && !progress.ended;
  status.set_phase(closing ? "closing" : std::string(tunnel::to_string(progress.phase)));
  status.set_tunnels(static_cast<uint32_t>(progress.tunnels));
  status.set_advised(static_cast<uint32_t>(progress.advised));
  status.set_streams(static_cast<uint32_t>(progress.streams));
  status.set_cut(static_cast<uint32_t>(progress.cut));
  if (!proxy_.draining()) return status;
  *status.mutable_since() = resource::to_proto(progress.since);
  *status.mutable_deadline() = resource::to_proto(progress.ended.value_or(progress.deadline));
  return status;
}

std::vector<ComponentReport> ProxyPart::reports() const {
  ComponentReport tunnels{.component = "tunnels", .status = absl::OkStatus()};
  if (proxy_.draining()) {
    tunnels.status = proxy_.describe().drain.ended
                         ? coded(absl::StatusCode::kUnavailable, "HF2143",
                                 "the proxy has drained: it carries nothing until it is restarted")
                         : coded(absl::StatusCode::kUnavailable, "HF2141",
                                 "the proxy drains: it takes no new tunnels and no new clients");
  }
  return {tunnels, {.component = "ingress", .status = tunnels.status}};
}

asio::awaitable<void> ProxyPart::close_ingress() {
  ingress_.stop_listening();
  const Time deadline = clock_.now() + kDoorPatience;
  // Once at least: who has just said what it wants is about to be dialled for.
  do {
    const bool slept = co_await net::pause(kDoorPoll);
    if (!slept) co_return;
  } while (ingress_.waiting_count() > 0 && clock_.now() < deadline);
}

asio::awaitable<net::HttpResponse> ProxyPart::answer(const ingress::PublicCall& call) {
  Result<net::HttpResponse> response = answer_allowed(call);
  co_return response.ok() ? *std::move(response) : web::error_answer(response.status());
}

// Who may take a proxy's entry away may drain it; who may see the entry sees its tunnels.
Result<net::HttpResponse> ProxyPart::answer_allowed(const ingress::PublicCall& call) {
  if (!is_node_call(call.request)) {
    return coded(absl::StatusCode::kNotFound, "HF6034", "there is nothing at this path");
  }
  const bool changes = changes_node(call.request);
  const v1::Verb verb = changes ? v1::VERB_DELETE : v1::VERB_GET;
  TRY(const identity::Grant grant, ingress::grant_of(call.caller, verb, Kind::Proxy, lookups()));
  if (!grant.allowed) {
    return identity::refused(call.caller, changes ? "drain proxies" : "see proxies");
  }
  if (changes) {
    log::info("asked to drain",
              {{"by", identity::to_string(call.caller)}, {"from", call.request.peer.source}});
  }
  return answer_node_call(*this, call.request);
}

}  // namespace holdfast::app

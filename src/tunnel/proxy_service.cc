#include "tunnel/proxy_service.h"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/reason.h"
#include "net/as_value.h"
#include "net/http_address.h"
#include "net/task_group.h"
#include "resource/proto_time.h"
#include "tunnel/agent_pool_types.h"
#include "tunnel/dial_service.h"
#include "tunnel/drain_service.h"
#include "tunnel/peer_service.h"
#include "tunnel/proxy_metrics_service.h"
#include "tunnel/proxy_shared_service.h"
#include "tunnel/tunnel_server.h"

namespace holdfast::tunnel {
namespace {

using net::kAsValue;
// What only time does is done this often; what happens is passed on within the shorter one.
constexpr Duration kTick = std::chrono::milliseconds(250);
constexpr Duration kBatch = std::chrono::milliseconds(5);
constexpr int kSilentToClose = 3;  // times the silence that makes a tunnel invalid
constexpr Duration kLeastTtl = std::chrono::seconds(1);  // a few ticks

// "10.0.0.7:7444" with the host that others are to use.
std::string advertised(const std::string& host, const std::string& bound) {
  return host.empty() ? bound : net::join_host_port(host, bound.substr(bound.rfind(':') + 1));
}

PlacesServiceOptions places_options(const ProxyOptions& options) {
  return {.places = {.holder = "proxy/" + options.name, .zone = options.zone, .boot = options.boot},
          .line = options.place_line,
          .patience = options.place_patience,
          .grant_patience = options.grant_patience};
}

}  // namespace

struct ProxyService::State {
  State(Parts parts, ProxyOptions options, Asks asks_of)
      : shared({.loop = parts.loop, .clock = parts.clock, .buffers = parts.buffers},
               std::move(options)),
        asks(std::move(asks_of)),
        metrics(parts.registry),
        places(parts.loop, parts.clock, places_options(shared.options)),
        tunnels(shared),
        peers(shared, [this](TunnelId id) { return tunnels.find(id); }),
        dialling({.shared = shared, .places = places, .tunnels = tunnels, .peers = peers}),
        drain({.shared = shared, .tunnels = tunnels, .peers = peers},
              {.announce = asks.announce_draining, .close_ingress = asks.close_ingress}),
        turn(parts.loop),
        tasks(parts.loop) {
    shared.wake = [this] {
      turn.cancel();
      drain.wake();
    };
    if (asks.load_due) places.on_due(asks.load_due);
  }

  asio::awaitable<void> run();
  void tick(Time now);
  void use_announce_ttl();
  void tell_when_ready(Time now);
  void advise_periodically(Time now);

  ProxyShared shared;
  Asks asks;
  ProxyMetrics metrics;
  PlacesService places;  // outlives every stream
  TunnelServer tunnels;
  PeerService peers;
  DialService dialling;
  DrainService drain;
  bool stopping = false;
  Time started{};
  Duration announced_ttl = shared.options.announce_ttl;
  asio::steady_timer turn;
  net::TaskGroup tasks;
};

ProxyService::ProxyService(Parts parts, ProxyOptions options, Asks asks)
    : state_(std::make_unique<State>(std::move(parts), std::move(options), std::move(asks))) {}

ProxyService::~ProxyService() = default;

Result<ProxyService::Addresses> ProxyService::listen() {
  ProxyShared& shared = state_->shared;
  if (shared.tunnel_tls == nullptr) {
    return absl::FailedPreconditionError("a proxy needs its identity before it listens");
  }
  TRY(const std::string tunnel, state_->tunnels.listen());
  shared.tunnel_address = advertised(shared.options.advertise_host, tunnel);
  if (!shared.options.peer_listen.empty()) {
    TRY(const std::string peer, state_->peers.listen());
    shared.peer_address = advertised(shared.options.advertise_host, peer);
  }
  shared.tell_self();
  return Addresses{.tunnel = shared.tunnel_address, .peer = shared.peer_address};
}

void ProxyService::start() {
  state_->tunnels.start();
  state_->peers.start();
  state_->started = state_->shared.parts.clock.now();
  state_->tasks.spawn(state_->run());
}

Status ProxyService::set_identity(const ProxyIdentity& identity) {
  return state_->shared.set_identity(identity);
}

void ProxyService::set_proxies(const std::vector<CachedProxy>& proxies) {
  state_->peers.set_proxies(proxies);
}

void ProxyService::set_settings(const v1::NetworkingConfig& settings) {
  ProxyShared& shared = state_->shared;
  const SessionOptions defaults = shared.options.link.session;
  const Duration asked = resource::to_duration(settings.keepalive_interval());
  const Duration interval = asked > Duration::zero()
                                ? std::clamp(asked, kLeastKeepalive, kLongestKeepalive)
                                : Duration(defaults.keepalive);
  const uint32_t misses = settings.keepalive_misses() > 0
                              ? std::min(settings.keepalive_misses(), kMostMisses)
                              : defaults.misses;
  if (interval != shared.session.keepalive || misses != shared.session.misses) {
    shared.session.keepalive = interval;
    shared.session.misses = misses;
    shared.table.set_silence(interval * misses, interval * misses * kSilentToClose);
    state_->tunnels.for_each([&](HeldTunnel& tunnel) { tunnel.set_keepalive(interval, misses); });
    state_->peers.set_keepalive(interval, misses);
    state_->use_announce_ttl();
  }
  const Duration reconnect = resource::to_duration(settings.tunnel_reconnect_interval());
  std::optional<Duration> wanted;
  if (reconnect > Duration::zero()) wanted = reconnect;
  if (std::exchange(state_->shared.reconnect, wanted) == wanted) return;
  shared.periodic.set_interval(wanted, shared.table.tunnels(), shared.parts.clock.now());
}

void ProxyService::set_announce_ttl(Duration ttl) {
  state_->announced_ttl = ttl;
  state_->use_announce_ttl();
}

Duration ProxyService::announce_ttl() const {
  return state_->shared.discovery.ttl();
}

// Without controllers a peer is heard from only by its keepalives.
void ProxyService::State::use_announce_ttl() {
  const Duration heard = std::max<Duration>(shared.session.keepalive * 2, kLeastTtl);
  const Duration least = std::min(heard, shared.options.announce_ttl);
  shared.discovery.set_ttl(std::max(announced_ttl, least), shared.parts.clock.now());
}

void ProxyService::set_load(const ProxyLoad& load) {
  state_->places.set_load(load);
}

PlacesService& ProxyService::places() {
  return state_->places;
}

asio::awaitable<Result<Reached>> ProxyService::dial(const Wanted& wanted,
                                                    std::unique_ptr<StreamEnd>& end) {
  ProxyShared& shared = state_->shared;
  const Result<std::optional<v1::Service>> known = state_->asks.service(wanted.service);
  if (!known.ok()) {
    shared.counts.dials[std::string(split_reason(known.status()).code)] += 1;
    co_return known.status();
  }
  const std::optional<v1::Service>& service = *known;
  if (!service) {
    shared.counts.dials["HF2201"] += 1;
    co_return coded(absl::StatusCode::kNotFound, "HF2201",
                    fmt::format("there is no service {}", wanted.service));
  }
  shared.dialing += 1;
  Result<Reached> reached = co_await state_->dialling.dial(*service, wanted, end);
  shared.dialing -= 1;
  if (!reached.ok()) shared.counts.dials[std::string(split_reason(reached.status()).code)] += 1;
  co_return reached;
}

// What happened goes out a moment later, with what happens in that moment.
asio::awaitable<void> ProxyService::State::run() {
  Time next_tick = shared.parts.clock.now();
  while (!stopping) {
    const Time now = shared.parts.clock.now();
    if (now >= next_tick) {
      tick(now);
      next_tick = now + kTick;
    }
    peers.send_holding();
    if (!shared.is_ready) tell_when_ready(now);
    turn.expires_after(next_tick - now);
    co_await turn.async_wait(kAsValue);
    const bool waited = co_await net::pause(kBatch);
    if (!waited) co_return;
  }
}

void ProxyService::State::tick(Time now) {
  tunnels.on_tick(now);
  peers.on_tick(now);
  if (now >= shared.discovery.next_deadline()) shared.discovery.on_tick(now);
  tunnels.send_discovery(now);
  advise_periodically(now);
  places.on_tick();
}

// A proxy that has just started knows only the agents that came to it; those of its peers are told
// within a round trip or two, unless a peer is gone.
void ProxyService::State::tell_when_ready(Time now) {
  const bool knows_all = peers.knows_all();
  if (!knows_all && now < started + shared.options.ready_within) return;
  shared.is_ready = true;
  log::info("clients may come", {{"after", to_short_string(now - started)},
                                 {"peers", knows_all ? "all" : "not all are known"}});
  if (asks.ready) asks.ready();
}

void ProxyService::State::advise_periodically(Time now) {
  if (shared.drain.is_draining()) return;
  for (const TunnelId id : shared.periodic.take_due(now)) {
    HeldTunnel* tunnel = tunnels.find(id);
    if (tunnel != nullptr) tunnel->advise("HF2111", "to even out the load", Duration::zero());
  }
}

asio::awaitable<void> ProxyService::drain(std::optional<Duration> deadline) {
  return state_->drain.drain(deadline);
}

void ProxyService::shorten_drain(Duration deadline) {
  state_->drain.shorten(deadline);
}

void ProxyService::drain_now() {
  state_->drain.hurry();
}

asio::awaitable<void> ProxyService::stop() {
  state_->stopping = true;
  state_->turn.cancel();
  state_->places.stop();
  co_await state_->drain.stop();
  // Who waits for a stream to be opened ends with its tunnel.
  state_->tunnels.for_each(
      [](HeldTunnel& tunnel) { tunnel.close(absl::CancelledError("the proxy stops")); });
  co_await state_->peers.stop();
  co_await state_->tunnels.stop();
  co_await state_->tasks.join();
}

bool ProxyService::draining() const {
  return state_->shared.drain.is_draining();
}

std::vector<std::string> ProxyService::discovered() const {
  std::vector<std::string> names;
  for (const ProxyFacts& proxy :
       state_->shared.discovery.current(state_->shared.parts.clock.now())) {
    names.push_back(proxy.name);
  }
  return names;
}

ProxyStatus ProxyService::describe() const {
  return {.tunnels = state_->tunnels.describe(),
          .peers = state_->peers.describe(),
          .drain = state_->drain.progress()};
}

size_t ProxyService::tunnel_count() const {
  return state_->shared.table.tunnel_count();
}

void ProxyService::update_metrics() {
  const ProxyCounts& counts = state_->shared.counts;
  ProxyMetrics::Numbers numbers{.admission = state_->tunnels.door().admission(),
                                .no_descriptors = state_->tunnels.door().no_descriptors() +
                                                  state_->peers.door().no_descriptors(),
                                .peer_links = state_->peers.link_count(),
                                .sessions = counts.sessions};
  state_->tunnels.for_each([&numbers](HeldTunnel& tunnel) {
    numbers.sessions.add(tunnel.session().stats());
    numbers.round_trips.add(tunnel.session().round_trip());
  });
  state_->metrics.update(state_->shared, numbers);
}

}  // namespace holdfast::tunnel

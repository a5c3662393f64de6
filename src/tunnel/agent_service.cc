#include "tunnel/agent_service.h"

#include <fmt/format.h>
#include <google/protobuf/util/message_differencer.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/rng.h"
#include "net/as_value.h"
#include "resource/proto_time.h"
#include "tunnel/agent_pool_codec.h"
#include "tunnel/greeting.h"
#include "tunnel/renewal.h"

namespace holdfast::tunnel {
namespace {

using How = TunnelEnd::How;
using google::protobuf::util::MessageDifferencer;

using net::kAsValue;
// How often round trips are taken over, and the longest wait for anything.
constexpr Duration kLookAgain = std::chrono::seconds(1);

PoolOptions with_zone(PoolOptions options, const std::string& zone) {
  options.zone = zone;
  return options;
}

// The pool does not want it after all.
bool closes(const Actions& actions, TunnelId id) {
  return std::ranges::any_of(actions, [&](const Action& action) {
    const Close* close = std::get_if<Close>(&action);
    return close != nullptr && close->tunnel == id;
  });
}

ForwardService::Unhealthy unhealthy_of(const v1::Exposed& exposed) {
  ForwardService::Unhealthy services;
  for (const v1::ExposedService& service : exposed.services()) {
    if (!service.healthy()) services.emplace(service.service(), service.reason());
  }
  return services;
}

}  // namespace

Result<AgentService::Held> AgentService::check(const AgentIdentity& identity) {
  TRY_OK(identity::check_key(identity.certificate_pem, identity.private_key_pem));
  TRY(identity::Identity who, identity::identity_of(identity.certificate_pem));
  if (who.role != identity::Role::Agent) {
    return absl::InvalidArgumentError(
        fmt::format("{} is no agent; join this node as one", identity::to_string(who)));
  }
  TRY(std::shared_ptr<const net::TlsContext> context,
      net::TlsContext::make_tunnel_client(
          {.certificate_pem = identity.certificate_pem,
           .private_key_pem = identity.private_key_pem,
           .protocols = {std::string(kTunnelProtocol)},
           .ca_pem = identity.ca_pem,
           .server_name = std::string(identity::kProxyServerName)}));
  identity::Trust trust;
  TRY_OK(trust.set(who.cluster, identity.ca_pem));
  TRY(const identity::Validity validity, identity::validity_of(identity.certificate_pem));
  return Held{.who = std::move(who),
              .ca_pem = identity.ca_pem,
              .context = std::move(context),
              .validity = validity};
}

Result<std::unique_ptr<AgentService>> AgentService::make(const asio::any_io_executor& loop,
                                                         const Clock& clock, AgentOptions options,
                                                         const AgentIdentity& identity) {
  TRY(Held held, check(identity));
  return std::unique_ptr<AgentService>(
      new AgentService(loop, clock, std::move(options), std::move(held)));
}

AgentService::AgentService(const asio::any_io_executor& loop, const Clock& clock,
                           AgentOptions options, Held held)
    : loop_(loop),
      clock_(clock),
      options_(std::move(options)),
      held_(std::move(held)),
      boot_(static_cast<uint64_t>(clock.wall_now().time_since_epoch().count())),
      forward_(loop, options_.forward),
      pool_(with_zone(options_.pool, held_.who.zone), options_.seed, clock.now()),
      renewal_part_(static_cast<double>(Rng(options_.seed).below(1'000)) / 1'000),
      timer_(loop),
      ended_(loop),
      tasks_(loop) {
  options_.link.session.side = Side::Acceptor;
  HF_CHECK(trust_.set(held_.who.cluster, held_.ca_pem).ok(), "an identity is checked before");
}

Status AgentService::set_identity(const AgentIdentity& identity) {
  TRY(Held held, check(identity));
  if (held.who.name != held_.who.name || held.who.cluster != held_.who.cluster) {
    return absl::InvalidArgumentError(fmt::format("{} of {} is not {} of {}", held.who.name,
                                                  held.who.cluster, held_.who.name,
                                                  held_.who.cluster));
  }
  TRY_OK(trust_.set(held.who.cluster, held.ca_pem));
  held_ = std::move(held);
  return absl::OkStatus();
}

Status AgentService::set_exposed(v1::Exposed exposed) {
  TRY(v1::Exposed fits, fitting(std::move(exposed)));
  if (MessageDifferencer::Equals(fits, exposed_)) return absl::OkStatus();
  exposed_ = std::move(fits);
  forward_.set_unhealthy(unhealthy_of(exposed_));
  for (const auto& [id, tunnel] : tunnels_) tunnel->send_exposed(exposed_);
  return absl::OkStatus();
}

void AgentService::set_proxies(const std::vector<KnownProxy>& proxies) {
  feed([this, listing = to_listing(proxies)](Time now) { return pool_.on_listing(listing, now); });
}

void AgentService::set_bootstrap(std::vector<std::string> addresses) {
  feed([this, addresses = std::move(addresses)](Time now) {
    return pool_.on_bootstrap(addresses, now);
  });
}

void AgentService::set_settings(const v1::NetworkingConfig& settings) {
  feed([this, made = pool_settings(settings)](Time now) { return pool_.on_settings(made, now); });
}

void AgentService::feed(Input input) {
  if (!started_) return early_.push_back(std::move(input));
  if (!stopping_) perform(input(clock_.now()));
}

void AgentService::start() {
  HF_CHECK(!started_, "an agent starts once");
  started_ = true;
  for (Input& input : std::exchange(early_, {})) feed(std::move(input));
  tasks_.spawn(tick());
}

asio::awaitable<void> AgentService::stop() {
  if (!started_) co_return;
  stopping_ = true;
  forward_.drain();
  perform(pool_.on_stop(clock_.now()));
  const Time deadline = clock_.now() + options_.stop_timeout;
  while (serving() && !hurried_ && clock_.now() < deadline) {
    ended_.expires_after(std::min(deadline - clock_.now(), kLookAgain));
    co_await ended_.async_wait(kAsValue);
  }
  if (const size_t cut = streams(); cut > 0) {
    log::warn("streams are cut: they did not finish in time",
              {{"streams", cut},
               {"patience", hurried_ ? "none" : to_short_string(options_.stop_timeout)}});
  }
  closing_ = true;
  timer_.cancel();
  co_await tasks_.join();
  co_await forward_.stop();
}

void AgentService::hurry() {
  hurried_ = true;
  ended_.cancel();
}

// A tunnel that streams run or may still be asked for on.
bool AgentService::serving() const {
  return std::ranges::any_of(tunnels_,
                             [](const auto& entry) { return entry.second->is_connected(); });
}

asio::awaitable<void> AgentService::tick() {
  while (!closing_) {
    take_round_trips();
    renew_tunnels();
    perform(pool_.on_tick(clock_.now()));
    Duration wait = kLookAgain;
    if (const auto due = pool_.next_deadline()) wait = std::min(wait, *due - clock_.now());
    timer_.expires_after(std::max(wait, Duration::zero()));
    co_await timer_.async_wait(kAsValue);
  }
}

void AgentService::take_round_trips() {
  Actions actions;
  for (const auto& [id, tunnel] : tunnels_) {
    if (!tunnel->is_connected()) continue;
    const std::optional<Duration> smoothed = tunnel->session().round_trip();
    if (!smoothed) continue;
    std::ranges::move(pool_.on_round_trip(id, *smoothed, clock_.now()),
                      std::back_inserter(actions));
  }
  if (!actions.empty()) perform(actions);
}

void AgentService::renew_tunnels() {
  const identity::Validity& held = held_.validity;
  const Duration lead = renewal_lead(held.not_after - held.not_before, renewal_part_);
  std::vector<TunnelId> due;
  for (const auto& [id, tunnel] : tunnels_) {
    if (!tunnel->is_connected() || tunnel->is_draining()) continue;
    if (is_renewal_due(tunnel->life(), held.not_after, lead, clock_.wall_now())) due.push_back(id);
  }
  for (const TunnelId id : due) {
    perform(pool_.on_renew(id, "its certificates near their end", clock_.now()));
  }
}

void AgentService::perform(const Actions& actions) {
  for (const Action& action : actions) {
    std::visit([this](const auto& one) { carry_out(one); }, action);
  }
  report();
  timer_.cancel();
}

void AgentService::carry_out(const Dial& dial) {
  journal_.dialled();
  LinkOptions link = options_.link;
  link.session.keepalive = pool_.settings().keepalive;
  link.session.misses = pool_.settings().keepalive_misses;
  tunnels_[dial.tunnel] =
      std::make_unique<AgentTunnel>(AgentTunnel::Parts{.loop = loop_,
                                                       .clock = clock_,
                                                       .trust = trust_,
                                                       .buffers = buffers_,
                                                       .forward = forward_},
                                    hooks(dial.tunnel),
                                    AgentTunnel::Plan{.dial = dial,
                                                      .context = held_.context,
                                                      .hello = hello(),
                                                      .link = link,
                                                      .expires = held_.validity.not_after});
  tasks_.spawn(live(dial.tunnel));
}

void AgentService::carry_out(const Drain& drain) {
  const auto found = tunnels_.find(drain.tunnel);
  if (found == tunnels_.end() || !found->second->is_connected()) return;
  journal_.drains(found->second->proxy(), drain.code, drain.why);
  found->second->drain(drain.why);
}

void AgentService::carry_out(const Close& close) {
  const auto found = tunnels_.find(close.tunnel);
  if (found == tunnels_.end()) return;
  found->second->close(absl::CancelledError(fmt::format("{}: {}", close.code, close.why)));
}

void AgentService::carry_out(const SetKeepalive& keepalive) {
  for (const auto& [id, tunnel] : tunnels_) {
    tunnel->set_keepalive(keepalive.interval, keepalive.misses);
  }
}

AgentTunnel::Hooks AgentService::hooks(TunnelId id) {
  AgentTunnel::Hooks hooks;
  hooks.may_claim = [this, id](const std::string& proxy) { return pool_.may_claim(id, proxy); };
  hooks.connected = [this, id](const ProxyInfo& proxy) {
    const Actions actions = pool_.on_connected(id, proxy, clock_.now());
    if (!closes(actions, id)) journal_.connected(proxy, tunnels_.at(id)->address());
    perform(actions);
  };
  hooks.discovery = [this](const v1::Discovery& discovery) {
    if (!stopping_) perform(pool_.on_discovery(discovered_proxies(discovery), clock_.now()));
  };
  hooks.advice = [this, id](const v1::Advice& advice) {
    const MoveAdvice move = to_advice(advice);
    journal_.advised(tunnels_.at(id)->proxy(), move);
    if (stopping_) return;
    // Elsewhere our certificate would not be a newer one: the same proxy will do.
    const bool expired = move.code == kCertificateExpired;
    perform(expired ? pool_.on_renew(id, move.reason, clock_.now())
                    : pool_.on_advice(id, move, clock_.now()));
  };
  hooks.goodbye = [this, id](std::string_view why) {
    journal_.drains(tunnels_.at(id)->proxy(), "", why);
    perform(pool_.on_goodbye(id, clock_.now()));
  };
  return hooks;
}

v1::TunnelHello AgentService::hello() const {
  v1::TunnelHello hello;
  hello.set_name(held_.who.name);
  hello.set_version(options_.version);
  hello.set_zone(held_.who.zone);
  hello.set_boot(boot_);
  *hello.mutable_exposed() = exposed_;
  return hello;
}

asio::awaitable<void> AgentService::live(TunnelId id) {
  const TunnelEnd end = co_await tunnels_.at(id)->run();
  take_end(id, end);
}

// A tunnel that was closed on the pool's word is not told of again; the pool ignores it.
void AgentService::take_end(TunnelId id, const TunnelEnd& end) {
  const auto node = tunnels_.extract(id);
  const Time now = clock_.now();
  const AgentTunnel& tunnel = *node.mapped();
  ended_.cancel();
  ended_sessions_.add(tunnel.session_stats());
  if (!closing_ && !tunnel.is_closed()) {
    journal_.ended(end, tunnel.proxy(), tunnel.address(), now);
  }
  switch (end.how) {
    case How::Failed:
      return perform(pool_.on_failed(id, now));
    case How::Refused:
      return perform(pool_.on_refused(id, end.refusal, now));
    case How::AlreadyClaimed:
      return perform(pool_.on_already_claimed(id, now));
    case How::Lost:
      return perform(pool_.on_lost(id, now));
    case How::Drained:
      return perform(pool_.on_drained(id, now));
  }
}

// Tells the owner if the tunnels are not those it knows of.
void AgentService::report() {
  journal_.observe(pool_.describe(clock_.now()), clock_.now());
  std::string shown;
  for (const auto& [id, tunnel] : tunnels_) {
    if (!tunnel->is_connected()) continue;
    shown += fmt::format("{}{} ", tunnel->proxy(), tunnel->is_draining() ? " drains" : "");
  }
  if (std::exchange(announced_, shown) != shown && changed_) changed_();
}

std::vector<v1::AgentTunnel> AgentService::describe() const {
  std::vector<v1::AgentTunnel> rows;
  for (const auto& [id, tunnel] : tunnels_) {
    if (!tunnel->is_connected()) continue;
    const Session& session = tunnel->session();
    v1::AgentTunnel& row = rows.emplace_back();
    row.set_proxy(tunnel->proxy());
    row.set_state(tunnel->is_draining() ? "draining" : "connected");
    *row.mutable_since() = resource::to_proto(tunnel->since());
    if (const auto smoothed = session.round_trip()) {
      *row.mutable_round_trip() = resource::to_proto(*smoothed);
    }
    row.set_streams(static_cast<uint32_t>(session.streams()));
    *row.mutable_last_frame() = resource::to_proto(wall(session.last_frame()));
  }
  std::ranges::reverse(rows);
  return rows;
}

WallTime AgentService::last_frame() const {
  Time newest{};
  for (const auto& [id, tunnel] : tunnels_) {
    if (tunnel->is_connected()) newest = std::max(newest, tunnel->session().last_frame());
  }
  return newest == Time{} ? WallTime{} : wall(newest);
}

size_t AgentService::streams() const {
  size_t sum = 0;
  for (const auto& [id, tunnel] : tunnels_) {
    if (tunnel->is_connected()) sum += tunnel->session().streams();
  }
  return sum;
}

SessionStats AgentService::sessions() const {
  SessionStats sum = ended_sessions_;
  for (const auto& [id, tunnel] : tunnels_) sum.add(tunnel->session_stats());
  return sum;
}

WallTime AgentService::wall(Time time) const {
  return clock_.wall_now() - std::chrono::duration_cast<WallTime::duration>(clock_.now() - time);
}

}  // namespace holdfast::tunnel

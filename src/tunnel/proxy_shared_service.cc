#include "tunnel/proxy_shared_service.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/reason.h"
#include "tunnel/secure_connection_service.h"

namespace holdfast::tunnel {
namespace {

constexpr uint32_t kPeriodicAdvicesPerSecond = 20;
constexpr size_t kLogLinesPerSecond = 10;

// Counts a stream as long as it lives; all else is the end's it stands for.
class CountedEnd final : public StreamEnd {
 public:
  CountedEnd(ProxyShared& shared, std::unique_ptr<StreamEnd> end, std::string agent,
             TunnelId tunnel)
      : shared_(shared), end_(std::move(end)), agent_(std::move(agent)), tunnel_(tunnel) {
    shared_.streams += 1;
    shared_.routes.stream_opened(agent_);
    if (tunnel_ != 0) shared_.table.stream_opened(tunnel_);
  }
  ~CountedEnd() override {
    end_.reset();
    shared_.streams -= 1;
    shared_.routes.stream_closed(agent_);
    if (tunnel_ != 0) shared_.table.stream_closed(tunnel_);
    if (shared_.streams == 0 && shared_.drain.is_draining()) shared_.wake();
  }

  // Requires: it was not attached.
  std::unique_ptr<StreamEnd> release() { return std::move(end_); }

  void attached(Link& link, StreamId stream) override { end_->attached(link, stream); }
  Pulled pull(std::span<char> into) override { return end_->pull(into); }
  ssize_t push(std::string_view bytes) override { return end_->push(bytes); }
  ssize_t push_parts(std::span<const std::string_view> parts) override {
    return end_->push_parts(parts);
  }
  void push_end() override { end_->push_end(); }
  void reset(ResetCode code, std::string_view why) override { end_->reset(code, why); }

 private:
  ProxyShared& shared_;
  std::unique_ptr<StreamEnd> end_;
  std::string agent_;
  TunnelId tunnel_;
};

DiscoveryOptions discovery_options(const ProxyOptions& options) {
  return {.self = options.name, .ttl = options.announce_ttl};
}

net::TlsTunnelOptions tls_options(const ProxyIdentity& identity, std::string_view protocol) {
  return {.certificate_pem = identity.certificate_pem,
          .private_key_pem = identity.private_key_pem,
          .protocols = {std::string(protocol)},
          .ca_pem = identity.ca_pem,
          .server_name = std::string(identity::kProxyServerName)};
}

}  // namespace

ProxyShared::ProxyShared(Parts parts_of, ProxyOptions options_of)
    : parts(std::move(parts_of)),
      options(std::move(options_of)),
      session(options.link.session),
      routes(options.zone),
      table(options.tunnels, routes),
      peers(options.peers, routes),
      discovery(discovery_options(options), options.seed),
      drain(options.drain, options.seed),
      periodic(kPeriodicAdvicesPerSecond, options.seed),
      rng(options.seed) {}

Status ProxyShared::set_identity(const ProxyIdentity& identity) {
  TRY(const identity::Identity who, identity::identity_of(identity.certificate_pem));
  if (who.role != identity::Role::Proxy || who.name != options.name ||
      who.cluster != options.cluster) {
    return absl::InvalidArgumentError("the certificate is " + identity::to_string(who) +
                                      "'s, not this proxy's");
  }
  TRY(const identity::Validity held, identity::validity_of(identity.certificate_pem));
  TRY(auto tunnel, net::TlsContext::make_tunnel_server(tls_options(identity, kTunnelProtocol)));
  TRY(auto peer, net::TlsContext::make_tunnel_server(tls_options(identity, kPeerProtocol)));
  TRY(auto dial, net::TlsContext::make_tunnel_client(tls_options(identity, kPeerProtocol)));
  TRY_OK(trust.set(options.cluster, identity.ca_pem));
  validity = held;
  tunnel_tls = std::move(tunnel);
  peer_tls = std::move(peer);
  dial_tls = std::move(dial);
  return absl::OkStatus();
}

GreetingRules ProxyShared::rules(identity::Role role) const {
  return {.role = role, .cluster = options.cluster};
}

ProxyFacts ProxyShared::own_facts() const {
  return {.name = options.name,
          .zone = options.zone,
          .group = options.group,
          .generation = options.generation,
          .tunnel_address = tunnel_address,
          .draining = refuse_tunnels};
}

bool ProxyShared::is_alone() const {
  return std::ranges::none_of(discovery.current(parts.clock.now()), [&](const ProxyFacts& proxy) {
    return proxy.name != options.name && !proxy.draining;
  });
}

LinkOptions ProxyShared::link_options(Side side) const {
  LinkOptions link = options.link;
  link.session = session;
  link.session.side = side;
  return link;
}

LinkOptions ProxyShared::peer_link_options(Side side) const {
  LinkOptions link = link_options(side);
  link.session.max_streams = options.streams_per_peer;
  return link;
}

std::string ProxyShared::welcome() const {
  v1::TunnelMessage message;
  v1::TunnelWelcome& welcome = *message.mutable_welcome();
  welcome.set_name(options.name);
  welcome.set_version(options.version);
  welcome.set_zone(options.zone);
  welcome.set_group(options.group);
  welcome.set_generation(options.generation);
  welcome.set_draining(refuse_tunnels);
  return message.SerializeAsString();
}

bool ProxyShared::may_log() {
  const Time now = parts.clock.now();
  if (now - log_second >= std::chrono::seconds(1)) {
    log_second = now;
    log_lines = 0;
  }
  log_lines += 1;
  return log_lines <= kLogLinesPerSecond;
}

void ProxyShared::note_end(const identity::Identity& who, const Status& why) {
  const Reason reason = split_reason(why);
  if (why.ok() || reason.code.empty()) return;
  counts.broken[std::string(reason.code)] += 1;
  if (may_log())
    log::info("a tunnel broke",
              {{"who", identity::to_string(who)}, {"why", reason.message}, {"code", reason.code}});
}

asio::awaitable<Status> ProxyShared::open_on(Link& link, StreamTarget target,
                                             std::unique_ptr<StreamEnd>& end, Duration timeout) {
  auto made = std::make_unique<CountedEnd>(*this, std::move(end), target.agent, target.tunnel);
  CountedEnd& counted = *made;
  std::unique_ptr<StreamEnd> given = std::move(made);
  Status opened = co_await link.open(std::move(target.payload), given, timeout);
  if (!opened.ok()) end = counted.release();
  co_return opened;
}

ResetCode reset_code_of(const Status& status) {
  const std::string_view message(status.message().data(), status.message().size());
  for (uint32_t number = 1; number <= static_cast<uint32_t>(ResetCode::NotAllowed); ++number) {
    const auto code = static_cast<ResetCode>(number);
    if (message.starts_with(to_string(code))) return code;
  }
  return absl::IsDeadlineExceeded(status) ? ResetCode::Timeout : ResetCode::Refused;
}

}  // namespace holdfast::tunnel

#include "tunnel/tunnel_server.h"

#include <utility>

#include "base/log.h"
#include "base/reason.h"

namespace holdfast::tunnel {

TunnelServer::TunnelServer(ProxyShared& shared)
    : shared_(shared),
      door_({.loop = shared.parts.loop, .clock = shared.parts.clock}, shared.options.admission,
            shared.options.seed, [this](net::StreamSocket socket, Admission::Start start) {
              return serve(std::move(socket), start);
            }) {}

asio::awaitable<void> TunnelServer::stop() {
  door_.close();
  for (HeldTunnel* tunnel : all_) tunnel->close(absl::CancelledError("the proxy stops"));
  co_await door_.join();
}

asio::awaitable<void> TunnelServer::serve(net::StreamSocket socket, Admission::Start start) {
  bool greeted = false;
  co_await shake_hands(std::move(socket), start, greeted);
  if (greeted) co_return;
  shared_.counts.failed_handshakes += 1;
  door_.finish(start.ticket, Admission::Outcome::Failed);
}

asio::awaitable<void> TunnelServer::shake_hands(net::StreamSocket socket, Admission::Start start,
                                                bool& greeted) {
  const Time hello_by = shared_.parts.clock.now() + shared_.options.hello_timeout;
  Secured secured = co_await secure_accept(
      std::move(socket), {shared_.trust, shared_.parts.clock},
      {.context = shared_.tunnel_tls, .timeout = shared_.options.hello_timeout});
  if (!secured.ok()) {
    log::debug("no tunnel came of a connection",
               {{"why", std::string(secured.status().message())}});
    co_return;
  }
  const auto on_greeted = [this, &greeted, start](HeldTunnel& held, Admission::Outcome outcome) {
    greeted = true;
    if (held.id() != 0) welcomed_.emplace(held.id(), &held);
    door_.finish(start.ticket, outcome);
  };
  HeldTunnel tunnel(shared_, *std::move(secured),
                    {.hello_by = hello_by,
                     .refuse = start.refuse,
                     .retry = [this] { return door_.retry_after(); },
                     .greeted = on_greeted});
  all_.insert(&tunnel);
  if (door_.is_closed()) tunnel.close(absl::CancelledError("the proxy stops"));
  const Status why = co_await tunnel.run();
  shared_.counts.sessions.add(tunnel.session().stats());
  if (tunnel.id() != 0) {
    const std::string code(split_reason(why).code);
    shared_.counts.tunnels_ended[code.empty() ? "none" : code] += 1;
  }
  all_.erase(&tunnel);
  welcomed_.erase(tunnel.id());
  if (greeted) shared_.note_end(tunnel.who(), why);
  log::debug("a tunnel is over", {{"agent", tunnel.agent()}, {"why", std::string(why.message())}});
}

HeldTunnel* TunnelServer::find(TunnelId id) const {
  const auto found = welcomed_.find(id);
  return found == welcomed_.end() ? nullptr : found->second;
}

void TunnelServer::for_each(const std::function<void(HeldTunnel&)>& action) const {
  for (HeldTunnel* tunnel : all_) action(*tunnel);
}

void TunnelServer::on_tick(Time now) {
  for (HeldTunnel* tunnel : all_) tunnel->on_tick(now);
  for (const TunnelId id : shared_.table.on_tick(now)) {
    if (HeldTunnel* silent = find(id)) {
      silent->close(coded(absl::StatusCode::kUnavailable, "HF2001", "it is silent"));
    }
  }
}

void TunnelServer::send_discovery(Time now) {
  for (const auto& [id, tunnel] : welcomed_) tunnel->send_discovery(now);
}

std::vector<TunnelStatus> TunnelServer::describe() const {
  std::vector<TunnelStatus> rows;
  rows.reserve(welcomed_.size());
  for (const TunnelId id : shared_.table.tunnels()) {
    if (const HeldTunnel* tunnel = find(id)) rows.push_back(tunnel->describe());
  }
  return rows;
}

}  // namespace holdfast::tunnel

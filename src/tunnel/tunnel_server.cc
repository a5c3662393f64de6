#include "tunnel/tunnel_server.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/reason.h"

namespace holdfast::tunnel {
namespace {

constexpr auto kAsValue = asio::as_tuple(asio::use_awaitable);
constexpr Duration kAcceptPause = std::chrono::milliseconds(100);  // without descriptors
constexpr Duration kLongestTurn = std::chrono::seconds(1);

}  // namespace

TunnelServer::TunnelServer(ProxyShared& shared)
    : shared_(shared),
      admission_(shared.options.admission, shared.options.seed, shared.parts.clock.now()),
      listener_(shared.parts.loop),
      turn_(shared.parts.loop),
      room_(shared.parts.loop),
      tasks_(shared.parts.loop) {}

void TunnelServer::start() {
  tasks_.spawn(accept());
  tasks_.spawn(admit());
}

asio::awaitable<void> TunnelServer::stop() {
  stopping_ = true;
  listener_.close();
  waiting_.clear();
  for (HeldTunnel* tunnel : all_) tunnel->close(absl::CancelledError("the proxy stops"));
  co_await tasks_.join();
}

asio::awaitable<void> TunnelServer::accept() {
  while (!stopping_) {
    if (!admission_.may_accept()) {
      room_.expires_after(kLongestTurn);
      co_await room_.async_wait(kAsValue);
      continue;
    }
    Result<Listener::Came> came = co_await listener_.accept();
    if (absl::IsCancelled(came.status())) co_return;
    if (!came.ok()) {
      shared_.counts.no_descriptors += 1;
      const bool waited = co_await net::pause(kAcceptPause);
      if (!waited) co_return;
      continue;
    }
    const auto ticket = admission_.arrive(came->host, shared_.parts.clock.now());
    if (!ticket) continue;  // closes it
    waiting_.emplace(*ticket, std::move(came->socket));
    start_next();
  }
}

// Wakes up for those whom only time lets in.
asio::awaitable<void> TunnelServer::admit() {
  while (!stopping_) {
    start_next();
    const Time now = shared_.parts.clock.now();
    const std::optional<Time> due = admission_.next_deadline(now);
    const Duration wait =
        due ? std::max(*due - now, Duration(std::chrono::milliseconds(1))) : Duration(kLongestTurn);
    turn_.expires_after(std::min(wait, kLongestTurn));
    co_await turn_.async_wait(kAsValue);
  }
}

void TunnelServer::start_next() {
  while (const auto start = admission_.next(shared_.parts.clock.now())) {
    auto socket = waiting_.extract(start->ticket);
    HF_CHECK(!socket.empty(), "who is admitted was waiting");
    tasks_.spawn(serve(std::move(socket.mapped()), *start));
  }
  if (admission_.may_accept()) room_.cancel();
}

asio::awaitable<void> TunnelServer::serve(net::StreamSocket socket, Admission::Start start) {
  bool greeted = false;
  co_await shake_hands(std::move(socket), start, greeted);
  if (greeted) co_return;
  shared_.counts.failed_handshakes += 1;
  admission_.finish(start.ticket, Admission::Outcome::Failed, shared_.parts.clock.now());
  turn_.cancel();
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
    if (outcome != Admission::Outcome::Failed) admission_.authenticated(start.ticket);
    admission_.finish(start.ticket, outcome, shared_.parts.clock.now());
    turn_.cancel();
  };
  HeldTunnel tunnel(shared_, *std::move(secured),
                    {.hello_by = hello_by,
                     .refuse = start.refuse,
                     .retry = [this] { return admission_.retry_after(shared_.parts.clock.now()); },
                     .greeted = on_greeted});
  all_.insert(&tunnel);
  if (stopping_) tunnel.close(absl::CancelledError("the proxy stops"));
  const Status why = co_await tunnel.run();
  all_.erase(&tunnel);
  welcomed_.erase(tunnel.id());
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

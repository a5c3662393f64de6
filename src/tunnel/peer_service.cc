#include "tunnel/peer_service.h"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/reason.h"
#include "resource/proto_time.h"

namespace holdfast::tunnel {
namespace {

constexpr auto kAsValue = asio::as_tuple(asio::use_awaitable);
// A link that lived this long begins with short waits again.
constexpr Duration kLongLived = std::chrono::seconds(10);

}  // namespace

// One proxy of the cache and the link to it. Kept while the cache lists it or its task runs;
// PeerTableOptions::max_peers bounds them.
struct PeerService::Peer {
  Peer(const ProxyShared& shared, std::string name_of, uint64_t seed)
      : name(std::move(name_of)),
        backoff(shared.options.peer_backoff, seed),
        since(shared.parts.clock.wall_now()),
        wait(shared.parts.loop) {}

  void become(std::string_view next, WallTime now) {
    state = next;
    since = now;
  }

  std::string name;
  v1::Proxy listed{};
  bool wanted = false;
  bool kept = false;           // a task runs for it
  bool tried = false;          // a dial has ended, whatever came of it
  bool says_draining = false;  // over its link
  Backoff backoff;
  std::string_view state = "waiting";
  WallTime since;
  std::string reason{};
  DialledPeer* link = nullptr;
  asio::steady_timer wait;
};

PeerService::PeerService(ProxyShared& shared, std::function<HeldTunnel*(TunnelId)> find)
    : shared_(shared),
      find_(std::move(find)),
      door_({.loop = shared.parts.loop, .clock = shared.parts.clock}, shared.options.peer_admission,
            shared.options.seed,
            [this](net::StreamSocket socket, Admission::Start start) {
              return serve(std::move(socket), start);
            }),
      tasks_(shared.parts.loop) {}

PeerService::~PeerService() = default;

void PeerService::start() {
  started_ = true;
  if (!shared_.options.peer_listen.empty()) door_.start();
  for (const auto& [name, peer] : peers_) {
    if (peer->wanted && !std::exchange(peer->kept, true)) tasks_.spawn(keep(*peer));
  }
}

asio::awaitable<void> PeerService::stop() {
  stopping_ = true;
  door_.close();
  for (const auto& [name, peer] : peers_) peer->wait.cancel();
  close(absl::CancelledError("the proxy stops"));
  co_await tasks_.join();
  co_await door_.join();
}

void PeerService::set_proxies(const std::vector<CachedProxy>& proxies) {
  const Time now = shared_.parts.clock.now();
  was_told_ = true;
  shared_.news_of_peers();
  std::set<std::string_view> listed;
  for (const CachedProxy& proxy : proxies) {
    if (proxy.name == shared_.options.name) continue;
    listed.insert(proxy.name);
  }
  forget(listed);
  for (const CachedProxy& proxy : proxies) {
    if (proxy.name != shared_.options.name) list(proxy, now);
  }
  for (const auto& [name, peer] : peers_) {
    if (listed.contains(name) || !std::exchange(peer->wanted, false)) continue;
    if (peer->link == nullptr) shared_.discovery.entry_gone(name);
    peer->wait.cancel();
  }
}

// Those that nothing is left of.
void PeerService::forget(const std::set<std::string_view>& listed) {
  std::erase_if(peers_, [&](const auto& entry) {
    const Peer& peer = *entry.second;
    if (listed.contains(entry.first) || peer.kept || peer.link != nullptr) return false;
    shared_.discovery.entry_gone(entry.first);
    return true;
  });
}

void PeerService::list(const CachedProxy& listed, Time now) {
  auto found = peers_.find(listed.name);
  if (found == peers_.end()) {
    if (peers_.size() >= shared_.options.peers.max_peers) {
      shared_.counts.refused_peers["HF2106"] += 1;
      return;
    }
    auto made = std::make_unique<Peer>(shared_, listed.name, shared_.rng.next());
    found = peers_.emplace(listed.name, std::move(made)).first;
  }
  Peer& peer = *found->second;
  const bool moved = peer.listed.peer_address() != listed.proxy.peer_address();
  peer.listed = listed.proxy;
  tell_discovery(peer, now);
  peer.wanted =
      !leaving_ && !peer.listed.peer_address().empty() && !shared_.options.peer_listen.empty();
  if (moved) {
    peer.backoff.reset();
    peer.wait.cancel();
  }
  if (started_ && peer.wanted && !stopping_ && !std::exchange(peer.kept, true)) {
    tasks_.spawn(keep(peer));
  }
}

void PeerService::tell_discovery(const Peer& peer, Time now) {
  const v1::Proxy& listed = peer.listed;
  shared_.discovery.entry(
      {.facts = {.name = peer.name,
                 .zone = listed.zone(),
                 .group = listed.group(),
                 .generation = listed.generation(),
                 .tunnel_address = listed.tunnel_address(),
                 .draining = listed.draining() || peer.says_draining},
       .heartbeat = resource::to_wall_time(listed.last_heartbeat()).time_since_epoch().count(),
       .offline = listed.announcement().has_offline_since()},
      now);
}

asio::awaitable<void> PeerService::keep(Peer& peer) {
  while (peer.wanted && !stopping_) {
    peer.become("connecting", shared_.parts.clock.wall_now());
    const Status why = co_await converse(peer);
    peer.reason = std::string(why.message());
    peer.tried = true;
    shared_.news_of_peers();
    peer.become("waiting", shared_.parts.clock.wall_now());
    if (stopping_ || !peer.wanted) break;
    peer.wait.expires_after(peer.backoff.next());
    co_await peer.wait.async_wait(kAsValue);
  }
  if (!stopping_) shared_.discovery.entry_gone(peer.name);
  peer.kept = false;
}

asio::awaitable<Status> PeerService::converse(Peer& peer) {
  Secured secured = co_await secure_connect(
      peer.listed.peer_address(), {shared_.trust, shared_.parts.clock},
      {.context = shared_.dial_tls, .timeout = shared_.options.hello_timeout});
  Status fits = secured.status();
  if (fits.ok() && (*secured)->peer.name != peer.name) {
    fits = coded(absl::StatusCode::kUnavailable, "HF2116",
                 fmt::format("{} answers at {}", identity::to_string((*secured)->peer),
                             peer.listed.peer_address()));
  }
  if (!fits.ok() || stopping_) {
    shared_.counts.peer_dials_failed += 1;
    co_return fits;
  }
  DialledPeer link(shared_, *std::move(secured), [this, &peer](bool draining) {
    if (peer.state != "connected") {
      log::info("a peer is linked", {{"peer", peer.name}});
      shared_.counts.peers_connected += 1;
      peer.become("connected", shared_.parts.clock.wall_now());
    }
    peer.says_draining = draining;
    tell_discovery(peer, shared_.parts.clock.now());
    shared_.wake();
  });
  peer.link = &link;
  const Time began = shared_.parts.clock.now();
  Status why = co_await link.run();
  peer.link = nullptr;
  // What it said of itself ends with the link; from here on the cache says it.
  if (std::exchange(peer.says_draining, false)) {
    tell_discovery(peer, shared_.parts.clock.now());
    shared_.wake();
  }
  if (link.was_welcomed()) {
    if (shared_.parts.clock.now() - began > kLongLived) peer.backoff.reset();
    shared_.counts.peers_lost += 1;
    log::info("a peer's link is over", {{"peer", peer.name}, {"why", std::string(why.message())}});
    shared_.note_end(link.who(), why);
  } else {
    shared_.counts.peer_dials_failed += 1;
  }
  co_return why;
}

asio::awaitable<void> PeerService::serve(net::StreamSocket socket, Admission::Start start) {
  const Duration timeout = shared_.options.hello_timeout;
  const Time hello_by = shared_.parts.clock.now() + timeout;
  Secured secured = co_await secure_accept(std::move(socket), {shared_.trust, shared_.parts.clock},
                                           {.context = shared_.peer_tls, .timeout = timeout});
  bool was_greeted = false;
  if (secured.ok() && !stopping_) {
    CallingPeer peer(shared_, *std::move(secured),
                     {.hello_by = hello_by,
                      .full = start.refuse || calling_.size() >= shared_.options.max_peer_links,
                      .find = find_,
                      .greeted = [&, ticket = start.ticket](CallingPeer& it, bool welcome) {
                        was_greeted = true;
                        greeted(it, ticket, welcome);
                      }});
    calling_.insert(&peer);
    const Status why = co_await peer.run();
    calling_.erase(&peer);
    if (was_greeted) shared_.note_end(peer.who(), why);
    log::debug("a peer that called is gone",
               {{"peer", peer.name()}, {"why", std::string(why.message())}});
  }
  if (was_greeted) co_return;
  shared_.counts.failed_handshakes += 1;
  door_.finish(start.ticket, Admission::Outcome::Failed);
}

void PeerService::greeted(CallingPeer& peer, Admission::Ticket ticket, bool welcome) {
  door_.finish(ticket, welcome ? Admission::Outcome::Admitted : Admission::Outcome::Failed);
  if (!welcome) return;
  // A proxy that dials again has lost its old link or will not use it: what runs there may finish.
  for (CallingPeer* other : calling_) {
    if (other != &peer && other->name() == peer.name()) other->say_goodbye("a newer link came");
  }
}

asio::awaitable<Status> PeerService::open(std::string_view peer, const v1::OpenStream& wanted,
                                          std::unique_ptr<StreamEnd>& end, Duration timeout) {
  const auto found = peers_.find(peer);
  if (found == peers_.end() || found->second->link == nullptr) {
    co_return absl::UnavailableError(fmt::format("there is no link to {}", peer));
  }
  co_return co_await found->second->link->open(wanted, end, timeout);
}

void PeerService::on_tick(Time now) {
  for (const auto& [name, peer] : peers_) {
    if (peer->link != nullptr) peer->link->on_tick(now);
  }
  for (CallingPeer* peer : calling_) peer->on_tick(now);
  shared_.peers.on_tick(now);
}

void PeerService::send_holding() {
  for (CallingPeer* peer : calling_) peer->send_holding();
}

void PeerService::set_keepalive(Duration interval, uint32_t misses) {
  for (const auto& [name, peer] : peers_) {
    if (peer->link != nullptr) peer->link->set_keepalive(interval, misses);
  }
  for (CallingPeer* peer : calling_) peer->set_keepalive(interval, misses);
}

void PeerService::advise(Duration closes_in) {
  for (CallingPeer* peer : calling_) peer->advise("HF2110", "the proxy is draining", closes_in);
}

void PeerService::say_goodbye() {
  leaving_ = true;
  for (const auto& [name, peer] : peers_) {
    peer->wanted = false;
    peer->wait.cancel();
    if (peer->link != nullptr) peer->link->say_goodbye("the proxy leaves");
  }
  for (CallingPeer* peer : calling_) peer->say_goodbye("the proxy leaves");
}

void PeerService::close(const Status& why) {
  for (const auto& [name, peer] : peers_) {
    if (peer->link != nullptr) peer->link->close(why);
  }
  for (CallingPeer* peer : calling_) peer->close(why);
}

std::vector<PeerStatus> PeerService::describe() const {
  std::map<std::string, size_t> held;
  for (const PeerTable::Row& row : shared_.peers.rows()) held[row.peer] = row.agents;
  std::vector<PeerStatus> rows;
  for (const auto& [name, peer] : peers_) {
    PeerStatus row{.name = name,
                   .zone = peer->listed.zone(),
                   .address = peer->listed.peer_address(),
                   .state = std::string(peer->state),
                   .since = peer->since,
                   .agents = held[name],
                   .reason = peer->reason};
    if (peer->link != nullptr) {
      row.round_trip = peer->link->session().round_trip();
      row.streams = peer->link->session().streams();
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

size_t PeerService::link_count() const {
  const auto is_up = [](const auto& peer) { return peer.second->link != nullptr; };
  return calling_.size() + static_cast<size_t>(std::ranges::count_if(peers_, is_up));
}

bool PeerService::knows_all() const {
  if (shared_.options.peer_listen.empty()) return true;
  const auto is_known = [this](const auto& entry) {
    const Peer& peer = *entry.second;
    return !peer.wanted || peer.tried || shared_.peers.is_whole(entry.first);
  };
  return was_told_ && std::ranges::all_of(peers_, is_known);
}

bool PeerService::is_linked(std::string_view peer) const {
  const auto found = peers_.find(peer);
  return found != peers_.end() && found->second->link != nullptr &&
         found->second->link->is_linked();
}

}  // namespace holdfast::tunnel

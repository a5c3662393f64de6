#include "tunnel/peer_service.h"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/reason.h"
#include "net/as_value.h"
#include "resource/proto_time.h"

namespace holdfast::tunnel {
namespace {

using net::kAsValue;
// A link that lived this long begins with short waits again.
constexpr Duration kLongLived = std::chrono::seconds(10);
// A peer that dials anew leaves its old link by itself within this time.
constexpr Duration kOverlap = std::chrono::seconds(5);

}  // namespace

// One proxy of the cache and the links to it: the one in use, and older ones until what runs there
// is over. Kept while the cache lists it or a task of it runs; PeerTableOptions::max_peers bounds
// them.
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

  // Counts a task as long as it runs.
  struct Running {
    explicit Running(Peer& of) : peer(of) { peer.tasks += 1; }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running() { peer.tasks -= 1; }
    Peer& peer;
  };

  std::string name;
  v1::Proxy listed{};
  bool wanted = false;
  uint64_t keeper = 0;   // the task that dials when there is no link; 0: none
  uint64_t renewal = 0;  // the one that dials beside a link; 0: none
  size_t tasks = 0;
  Time renew_at{};             // not before
  bool tried = false;          // a dial has ended, whatever came of it
  bool says_draining = false;  // over its link
  Backoff backoff;
  std::string_view state = "waiting";
  WallTime since;
  std::string reason{};
  DialledPeer* link = nullptr;     // of those that were welcomed, the newest
  std::set<DialledPeer*> links{};  // all
  asio::steady_timer wait;
};

PeerService::PeerService(ProxyShared& shared, std::function<HeldTunnel*(TunnelId)> find)
    : shared_(shared),
      find_(std::move(find)),
      renewal_part_(static_cast<double>(Rng(shared.options.seed).below(1'000)) / 1'000),
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
    if (peer->wanted) begin_to_keep(*peer);
  }
}

void PeerService::begin_to_keep(Peer& peer) {
  if (peer.keeper != 0) return;
  peer.keeper = ++last_task_;
  tasks_.spawn(keep(peer, peer.keeper));
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
    if (peer->links.empty()) shared_.discovery.entry_gone(name);
    peer->wait.cancel();
  }
}

// Those that nothing is left of.
void PeerService::forget(const std::set<std::string_view>& listed) {
  std::erase_if(peers_, [&](const auto& entry) {
    const Peer& peer = *entry.second;
    const bool is_used = peer.keeper != 0 || peer.renewal != 0 || peer.tasks > 0;
    if (listed.contains(entry.first) || is_used) return false;
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
  if (started_ && peer.wanted && !stopping_) begin_to_keep(peer);
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

// A link that nears its end, or that takes no streams any more, gets a successor beside it.
void PeerService::renew_if_due(Peer& peer, Time now) {
  if (peer.link == nullptr || peer.renewal != 0 || now < peer.renew_at) return;
  if (stopping_ || !peer.wanted) return;
  const identity::Validity& own = shared_.validity;
  const Duration lead = renewal_lead(own.not_after - own.not_before, renewal_part_);
  if (peer.link->is_linked() && !peer.link->nears_its_end(lead)) return;
  peer.renew_at = now + shared_.options.peer_backoff.cap;
  peer.renewal = ++last_task_;
  tasks_.spawn(keep(peer, peer.renewal));
}

// One task for each link. The one whose link was welcomed last is the keeper; the others end with
// theirs, and so does a renewal that comes to nothing.
asio::awaitable<void> PeerService::keep(Peer& peer, uint64_t task) {
  const Peer::Running running(peer);
  const auto goes_on = [&] { return peer.keeper == task && peer.wanted && !stopping_; };
  do {
    const Status why = co_await converse(peer, task);
    if (peer.renewal == task) peer.renewal = 0;
    if (peer.keeper != task) co_return;
    peer.reason = std::string(why.message());
    peer.tried = true;
    shared_.news_of_peers();
    peer.become("waiting", shared_.parts.clock.wall_now());
    if (!goes_on()) break;
    peer.wait.expires_after(peer.backoff.next());
    co_await peer.wait.async_wait(kAsValue);
  } while (goes_on());
  if (peer.keeper != task) co_return;
  if (!stopping_) shared_.discovery.entry_gone(peer.name);
  peer.keeper = 0;
}

// The old link, if there is one, is left only now.
void PeerService::take_over(Peer& peer, DialledPeer& link, uint64_t task) {
  DialledPeer* const old = std::exchange(peer.link, &link);
  peer.keeper = task;
  if (peer.renewal == task) peer.renewal = 0;
  shared_.counts.peers_connected += 1;
  if (old == nullptr) {
    log::info("a peer is linked", {{"peer", peer.name}});
    peer.become("connected", shared_.parts.clock.wall_now());
  } else {
    log::info("a peer is linked anew", {{"peer", peer.name}});
    shared_.counts.peers_renewed += 1;
    old->retire();
  }
}

asio::awaitable<Status> PeerService::converse(Peer& peer, uint64_t task) {
  if (stopping_ || !peer.wanted) co_return absl::CancelledError("no longer wanted");
  if (peer.link == nullptr) peer.become("connecting", shared_.parts.clock.wall_now());
  const WallTime own_expires = shared_.validity.not_after;
  Secured secured = co_await secure_connect(
      peer.listed.peer_address(), {shared_.trust, shared_.parts.clock},
      {.context = shared_.dial_tls, .timeout = shared_.options.hello_timeout});
  Status fits = secured.status();
  if (fits.ok() && (*secured)->peer.name != peer.name) {
    fits = coded(absl::StatusCode::kUnavailable, "HF2116",
                 fmt::format("{} answers at {}", identity::to_string((*secured)->peer),
                             peer.listed.peer_address()));
  }
  if (!fits.ok() || stopping_ || leaving_) {
    shared_.counts.peer_dials_failed += 1;
    co_return fits;
  }
  const auto says = [this, &peer](bool draining) {
    peer.says_draining = draining;
    tell_discovery(peer, shared_.parts.clock.now());
    shared_.wake();
  };
  DialledPeer link(shared_, *std::move(secured),
                   {.own_expires = own_expires,
                    .linked = [this, &peer, task](DialledPeer& it) { take_over(peer, it, task); },
                    .said = says});
  peer.links.insert(&link);
  const Time began = shared_.parts.clock.now();
  Status why = co_await link.run();
  peer.links.erase(&link);
  if (peer.link == &link) {
    peer.link = nullptr;
    // What it said of itself ends with the link; from here on the cache says it.
    if (peer.says_draining) says(false);
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
  // A proxy that dials again has lost its old link, or leaves it when it has heard the welcome of
  // the new one: to leave it first would be a moment without any. What runs there may finish.
  const Time by = shared_.parts.clock.now() + kOverlap;
  for (CallingPeer* other : calling_) {
    if (other != &peer && other->name() == peer.name()) other->leave_by(by);
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
    for (DialledPeer* link : peer->links) link->on_tick(now);
    renew_if_due(*peer, now);
  }
  for (CallingPeer* peer : calling_) peer->on_tick(now);
  shared_.peers.on_tick(now);
}

void PeerService::send_holding() {
  for (CallingPeer* peer : calling_) peer->send_holding();
}

void PeerService::set_keepalive(Duration interval, uint32_t misses) {
  for (const auto& [name, peer] : peers_) {
    for (DialledPeer* link : peer->links) link->set_keepalive(interval, misses);
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
    for (DialledPeer* link : peer->links) link->say_goodbye("the proxy leaves");
  }
  for (CallingPeer* peer : calling_) peer->say_goodbye("the proxy leaves");
}

void PeerService::close(const Status& why) {
  for (const auto& [name, peer] : peers_) {
    for (DialledPeer* link : peer->links) link->close(why);
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
  size_t count = calling_.size();
  for (const auto& [name, peer] : peers_) count += peer->links.size();
  return count;
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

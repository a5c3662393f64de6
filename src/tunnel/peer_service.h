// The other proxies: keeps a link to each that the cache lists, and takes theirs. A link whose
// certificates near their end is made anew beside the old one, which is left when the new one is
// there: the peer's agents are reached at every moment.
//
//   set_proxies() ─► one task each: dial ─► hello ─► DialledPeer ─► over ─► backoff ─► dial ...
//                                     another: dial ─► hello ─► welcomed: the old one retires, and
//                                                               its task ends with it
//   Door ─► secure_accept ─► CallingPeer
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/backoff.h"
#include "net/task_group.h"
#include "tunnel/door_service.h"
#include "tunnel/peer_link_service.h"
#include "tunnel/proxy_shared_service.h"

namespace holdfast::tunnel {

class PeerService {
 public:
  // `shared` outlives it; `find` gives the tunnel that streams of peers are served from.
  PeerService(ProxyShared& shared, std::function<HeldTunnel*(TunnelId)> find);
  ~PeerService();

  Result<std::string> listen() { return door_.listen(shared_.options.peer_listen); }
  void start();
  asio::awaitable<void> stop();

  // All that the cache has. Those that are gone from it are not dialled again; links that live
  // are kept.
  void set_proxies(const std::vector<CachedProxy>& proxies);

  // As Link::open(); kUnavailable if there is no link. `wanted` names the agent.
  asio::awaitable<Status> open(std::string_view peer, const v1::OpenStream& wanted,
                               std::unique_ptr<StreamEnd>& end, Duration timeout);
  void on_tick(Time now);
  void send_holding();
  void set_keepalive(Duration interval, uint32_t misses);
  // For a drain: tells peers that this proxy leaves.
  void advise(Duration closes_in);
  // On every link; dials nobody from here on.
  void say_goodbye();
  void close(const Status& why);

  std::vector<PeerStatus> describe() const;
  const Door& door() const { return door_; }
  // Links, dialled and taken.
  size_t link_count() const;
  bool is_linked(std::string_view peer) const;
  // Whether every peer has told all that it holds, or could not be reached. False as long as nobody
  // has said which peers there are.
  bool knows_all() const;

 private:
  struct Peer;

  void begin_to_keep(Peer& peer);
  void renew_if_due(Peer& peer, Time now);
  asio::awaitable<void> keep(Peer& peer, uint64_t task);
  asio::awaitable<Status> converse(Peer& peer, uint64_t task);
  void take_over(Peer& peer, DialledPeer& link, uint64_t task);
  asio::awaitable<void> serve(net::StreamSocket socket, Admission::Start start);
  void greeted(CallingPeer& peer, Admission::Ticket ticket, bool welcome);
  void list(const CachedProxy& listed, Time now);
  void forget(const std::set<std::string_view>& listed);
  void tell_discovery(const Peer& peer, Time now);

  ProxyShared& shared_;
  std::function<HeldTunnel*(TunnelId)> find_;
  std::map<std::string, std::unique_ptr<Peer>, std::less<>> peers_;
  std::unordered_set<CallingPeer*> calling_;
  uint64_t last_task_ = 0;
  const double renewal_part_;  // of the spread
  bool started_ = false;
  bool was_told_ = false;  // which proxies there are
  bool stopping_ = false;
  bool leaving_ = false;
  Door door_;
  net::TaskGroup tasks_;  // that dial
};

}  // namespace holdfast::tunnel

// Takes agents' tunnels: shakes hands with whom the door lets in, and keeps each tunnel until it is
// over.
//
//   Door ─► secure_accept ─► HeldTunnel: hello, then whatever comes
#pragma once

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tunnel/door_service.h"
#include "tunnel/held_tunnel_service.h"
#include "tunnel/proxy_shared_service.h"

namespace holdfast::tunnel {

class TunnelServer {
 public:
  // `shared` outlives it.
  explicit TunnelServer(ProxyShared& shared);

  // The address it listens on. kInvalidArgument, kUnavailable HF1106.
  Result<std::string> listen() { return door_.listen(shared_.options.tunnel_listen); }
  void start() { door_.start(); }
  // Tunnels and those who wait are cut; in bounded time.
  asio::awaitable<void> stop();

  HeldTunnel* find(TunnelId id) const;
  // Whatever its state, before its hello too.
  void for_each(const std::function<void(HeldTunnel&)>& action) const;
  // What only time does.
  void on_tick(Time now);
  void send_discovery(Time now);
  // Those that were welcomed.
  std::vector<TunnelStatus> describe() const;
  const Door& door() const { return door_; }
  size_t size() const { return all_.size(); }

 private:
  asio::awaitable<void> serve(net::StreamSocket socket, Admission::Start start);
  asio::awaitable<void> shake_hands(net::StreamSocket socket, Admission::Start start,
                                    bool& greeted);

  ProxyShared& shared_;
  std::unordered_set<HeldTunnel*> all_;
  std::unordered_map<TunnelId, HeldTunnel*> welcomed_;
  Door door_;
};

}  // namespace holdfast::tunnel

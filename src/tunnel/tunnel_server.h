// Takes agents' tunnels: accepts no more than the admission lets through, shakes hands, and keeps
// each tunnel until it is over.
//
//   accept ─► Admission ─► secure_accept ─► HeldTunnel: hello, then whatever comes
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "net/task_group.h"
#include "tunnel/admission.h"
#include "tunnel/held_tunnel_service.h"
#include "tunnel/listener_service.h"
#include "tunnel/proxy_shared_service.h"

namespace holdfast::tunnel {

class TunnelServer {
 public:
  // `shared` outlives it.
  explicit TunnelServer(ProxyShared& shared);

  // The address it listens on. kInvalidArgument, kUnavailable HF1106.
  Result<std::string> listen() { return listener_.listen(shared_.options.tunnel_listen); }
  void start();
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
  const Admission& admission() const { return admission_; }
  size_t size() const { return all_.size(); }

 private:
  asio::awaitable<void> accept();
  asio::awaitable<void> admit();
  asio::awaitable<void> serve(net::StreamSocket socket, Admission::Start start);
  asio::awaitable<void> shake_hands(net::StreamSocket socket, Admission::Start start,
                                    bool& greeted);
  void start_next();

  ProxyShared& shared_;
  Admission admission_;
  Listener listener_;
  std::unordered_map<Admission::Ticket, net::StreamSocket> waiting_;
  std::unordered_set<HeldTunnel*> all_;
  std::unordered_map<TunnelId, HeldTunnel*> welcomed_;
  bool stopping_ = false;
  asio::steady_timer turn_;  // cancelled when someone may be admitted
  asio::steady_timer room_;  // cancelled when another may be accepted
  net::TaskGroup tasks_;
};

}  // namespace holdfast::tunnel

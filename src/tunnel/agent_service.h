// An agent's tunnels: keeps as many to different proxies as the settings ask for, serves the
// streams that come through them, moves on advice, and leaves without cutting anyone off.
//
//   set_proxies(), set_bootstrap(), Discovery, Advice, losses ─► AgentPool ─► dial, drain, close
//   dial ─► TLS (is it a proxy of ours, is it claimed?) ─► Hello/Welcome ─► Link ─► ForwardService
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "holdfast/v1/resource.pb.h"
#include "net/task_group.h"
#include "tunnel/forward_service.h"
#include "tunnel/link_service.h"
#include "tunnel/target.h"

namespace holdfast::tunnel {

// Key, certificate and whom it trusts, in PEM.
struct TunnelIdentity {
  std::string private_key_pem{};
  std::string certificate_pem{};
  std::string ca_pem{};
};

// A proxy that the cache tells of.
struct KnownProxy {
  std::string name{};
  v1::Proxy proxy{};
};

struct AgentOptions {
  std::string version{};
  ForwardOptions forward{};
  LinkOptions link{};
  Duration handshake_timeout = std::chrono::seconds(10);  // connection, TLS and hello together
  Duration stop_timeout = std::chrono::seconds(30);       // what running streams get from stop()
  uint64_t seed = 1;  // of the jitter; also tells this process from others
};

struct AgentStats {
  uint64_t dials = 0;
  std::map<std::string, uint64_t> failures{};  // of dials, by code: "HF2102", or "unreachable"
  uint64_t connected = 0;                      // tunnels that were made
  uint64_t claims_refused = 0;                 // the proxy that answered was had already
  uint64_t advised = 0;                        // to move
  uint64_t drained = 0;                        // tunnels that ended because we wanted it
  uint64_t lost = 0;                           // and those that did not
  uint64_t recoveries = 0;                     // times that there were enough again after a loss
  Duration last_recovery{0};                   // how long that took
  Duration recovery_sum{0};
  size_t tunnels = 0;  // now
  size_t wanted = 0;   // as many as there should be
};

class AgentService {
 public:
  // Requires: the identity is an agent's. kInvalidArgument if it does not hold together.
  static Result<std::unique_ptr<AgentService>> make(const asio::any_io_executor& loop,
                                                    const Clock& clock, AgentOptions options,
                                                    const TunnelIdentity& identity);
  ~AgentService();
  AgentService(const AgentService&) = delete;
  AgentService& operator=(const AgentService&) = delete;

  // What it works with; each may be given at any time, before start() too, and counts from then on.
  //
  // For tunnels made from here on. kInvalidArgument, and no change, as for make().
  Status set_identity(const TunnelIdentity& identity);
  void set_targets(TargetTable targets);
  // Sent on every tunnel if it is not what was said before.
  void set_exposed(v1::Exposed exposed);
  // All that the cache has; those with a heartbeat that has not been seen yet count as heard from.
  void set_proxies(const std::vector<KnownProxy>& proxies);
  // HOST:PORT, dialled when no better is known.
  void set_bootstrap(std::vector<std::string> addresses);
  void set_settings(const v1::NetworkingConfig& settings);
  // What the cache knows of services' ports.
  void set_services(ForwardService::FindService find);
  // Called when describe() has something new to announce: a tunnel came, drains or went.
  void on_change(std::function<void()> changed);

  void start();
  // Says goodbye on all tunnels, so that proxies choose others, gives running streams
  // options.stop_timeout to finish, then closes.
  asio::awaitable<void> stop();

  // For announcements (Agent.tunnels, Agent.proxies) and node.sock; newest first.
  std::vector<v1::AgentTunnel> describe() const;
  const AgentStats& stats() const;
  const ForwardStats& forwarded() const;
  // "HF2111: ..." of the newest dial that failed since a tunnel was last made; empty if none.
  std::string last_failure() const;

 private:
  class State;
  explicit AgentService(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace holdfast::tunnel

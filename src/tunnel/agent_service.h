// An agent's tunnels: keeps as many to different proxies as the settings ask for, serves the
// streams that come through them, moves on advice, and leaves without cutting anyone off.
//
//   set_proxies(), set_bootstrap(), Discovery, Advice, losses ─► AgentPool ─► dial, drain, close
//   dial ─► AgentTunnel ─► a proxy's streams ─► ForwardService ─► applications
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
#include "identity/certificate.h"
#include "net/task_group.h"
#include "net/tls_context.h"
#include "tunnel/agent_inputs.h"
#include "tunnel/agent_journal_service.h"
#include "tunnel/agent_pool.h"
#include "tunnel/agent_tunnel_service.h"
#include "tunnel/forward_service.h"
#include "tunnel/link_service.h"
#include "tunnel/target.h"

namespace holdfast::tunnel {

// Key, certificate and whom it trusts, in PEM.
struct AgentIdentity {
  std::string private_key_pem{};
  std::string certificate_pem{};
  std::string ca_pem{};
};

struct AgentOptions {
  std::string version{};
  PoolOptions pool{};  // its zone is the certificate's
  ForwardOptions forward{};
  LinkOptions link{};
  Duration stop_timeout = std::chrono::seconds(30);  // what running streams get from stop()
  uint64_t seed = 1;                                 // of the jitter
};

class AgentService {
 public:
  // kInvalidArgument if the identity does not hold together or is no agent's. The clock outlives
  // it.
  static Result<std::unique_ptr<AgentService>> make(const asio::any_io_executor& loop,
                                                    const Clock& clock, AgentOptions options,
                                                    const AgentIdentity& identity);
  // Requires: stop() has returned, or start() was never called.
  ~AgentService() = default;
  AgentService(const AgentService&) = delete;
  AgentService& operator=(const AgentService&) = delete;

  // What it works with; each may be given at any time, before start() too, and counts from then on.
  //
  // For tunnels made from here on; those of the old one are made anew before its end.
  // kInvalidArgument, and no change, as for make(), or if it is
  // another agent's.
  Status set_identity(const AgentIdentity& identity);
  // For streams from here on.
  void set_targets(TargetTable targets) { forward_.set_targets(std::move(targets)); }
  // What the cache knows of services: their ports have names and numbers there.
  void set_services(ForwardService::FindService find) { forward_.set_services(std::move(find)); }
  // Services, their health, and the agent's labels: told to every proxy if it is not what they know
  // already. kInvalidArgument HF2121, and no change, if it is more than fits into a message.
  Status set_exposed(v1::Exposed exposed);
  // All that the cache has, whenever it has changed.
  void set_proxies(const std::vector<KnownProxy>& proxies);
  // HOST:PORT, dialled when no better is known.
  void set_bootstrap(std::vector<std::string> addresses);
  void set_settings(const v1::NetworkingConfig& settings);
  // What running streams get from a stop() that has not begun.
  void set_stop_timeout(Duration timeout) { options_.stop_timeout = timeout; }
  // Called when describe() has something new to announce: a tunnel came, drains or went.
  void on_change(std::function<void()> changed) { changed_ = std::move(changed); }

  void start();
  // Says goodbye on all tunnels, so that proxies choose others, gives running streams
  // options.stop_timeout to finish, then closes.
  asio::awaitable<void> stop();
  // A stop() under way, or to come, gives running streams no time.
  void hurry();

  // For announcements and node.sock; newest first.
  std::vector<v1::AgentTunnel> describe() const;
  // Names of the proxies whose tunnels take streams, newest first.
  std::vector<std::string> proxies() const { return pool_.connected_proxies(); }
  // When anything last came through any tunnel; the epoch if never.
  WallTime last_frame() const;
  // Of all running streams.
  size_t streams() const;
  // Of all tunnels there were.
  SessionStats sessions() const;
  const AgentStats& stats() const { return journal_.stats(); }
  const ForwardStats& forwarded() const { return forward_.stats(); }
  const LinkBuffers& buffers() const { return buffers_; }
  PoolView pool() const { return pool_.describe(clock_.now()); }
  // "edge:7444: HF2020: ...", of the newest dial that failed since a tunnel was last made.
  const std::string& last_failure() const { return journal_.last_failure(); }

 private:
  struct Held {  // an identity that was checked
    identity::Identity who;
    std::string ca_pem;
    std::shared_ptr<const net::TlsContext> context;
    identity::Validity validity;
  };
  using Input = std::function<Actions(Time now)>;

  AgentService(const asio::any_io_executor& loop, const Clock& clock, AgentOptions options,
               Held held);
  static Result<Held> check(const AgentIdentity& identity);

  void feed(Input input);
  void perform(const Actions& actions);
  void carry_out(const Dial& dial);
  void carry_out(const Drain& drain);
  void carry_out(const Close& close);
  void carry_out(const SetKeepalive& keepalive);
  AgentTunnel::Hooks hooks(TunnelId id);
  v1::TunnelHello hello() const;

  asio::awaitable<void> tick();
  asio::awaitable<void> live(TunnelId id);
  void take_end(TunnelId id, const TunnelEnd& end);
  void take_round_trips();
  void renew_tunnels();
  void report();
  bool serving() const;
  WallTime wall(Time time) const;

  asio::any_io_executor loop_;
  const Clock& clock_;
  AgentOptions options_;
  Held held_;
  uint64_t boot_;
  identity::Trust trust_;
  LinkBuffers buffers_;
  ForwardService forward_;
  AgentPool pool_;
  AgentJournal journal_;
  v1::Exposed exposed_;
  std::function<void()> changed_;
  std::string announced_;  // the tunnels as changed_ was last called for
  double renewal_part_;    // of the spread
  bool started_ = false;
  bool stopping_ = false;
  bool hurried_ = false;
  bool closing_ = false;
  std::vector<Input> early_;  // before start()
  std::map<TunnelId, std::unique_ptr<AgentTunnel>> tunnels_;
  SessionStats ended_sessions_{};
  asio::steady_timer timer_;
  asio::steady_timer ended_;  // a tunnel did
  net::TaskGroup tasks_;
};

}  // namespace holdfast::tunnel

// A fleet in virtual time, for the simulation: agents are AgentPools, proxies are made of the cores
// that real ones use, and between them is a network that is slow, cut or gone as told. Everything
// happens in order of time, then of being asked for; chance comes from the seed.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <string>
#include <vector>

#include "base/rng.h"
#include "tunnel/admission.h"
#include "tunnel/agent_pool.h"
#include "tunnel/discovery.h"
#include "tunnel/drain_plan.h"
#include "tunnel/peer_table.h"
#include "tunnel/tunnel_table.h"

namespace holdfast::tunnel::fleet {

struct FleetOptions {
  size_t agents = 8;
  size_t proxies = 3;  // at the start; a rollout adds as many
  size_t zones = 2;
  uint32_t connection_count = 2;
  Duration threshold = std::chrono::seconds(15);  // of closing what is too many
  Duration ttl = std::chrono::seconds(20);        // of proxies' announcements
  Duration tick = std::chrono::seconds(1);        // of a proxy
  Duration longest_stream = std::chrono::seconds(20);
  AdmissionOptions admission{};
  DrainOptions drain{};
};

// What happened, for the reports and the checks.
struct FleetStats {
  uint64_t dials = 0;
  uint64_t admitted = 0;
  uint64_t refused = 0;
  uint64_t advised = 0;
  uint64_t streams = 0;
  uint64_t lost = 0;                          // streams that were cut
  uint64_t unreachable = 0;                   // streams that found nobody
  std::map<int64_t, uint64_t> admitted_in{};  // by second
  uint64_t peak() const;
};

// A dial, and the tunnel that it becomes.
struct Connection {
  uint64_t id = 0;
  size_t agent = 0;
  TunnelId at_agent = 0;
  size_t place = 0;
  uint64_t process = 0;   // 0: nobody was there
  TunnelId at_proxy = 0;  // 0: not welcomed
  Admission::Ticket ticket = 0;
  bool agent_open = true;  // the agent has not closed it
  bool told = false;       // the agent knows how its dial ended
  bool leaving = false;
  Discovery::Cursor cursor{};
  Time agent_reads{};  // nothing arrives before what was sent before it
  Time proxy_reads{};
  std::set<uint64_t> streams{};
};

// One run of a proxy.
struct Process {
  Process(const FleetOptions& options, const ProxyFacts& facts, uint64_t number, Time now);

  ProxyFacts facts;
  uint64_t number;
  size_t place = 0;
  Time started;
  bool takes_clients = true;
  bool takes_tunnels = true;
  route::Routes routes;
  TunnelTable table;
  PeerTable peers;
  Discovery discovery;
  Admission admission;
  DrainPlan drain;
  std::deque<uint64_t> backlog{};
  std::map<Admission::Ticket, uint64_t> handshakes{};
  std::map<TunnelId, uint64_t> tunnels{};
  std::map<std::string, std::pair<uint64_t, TunnelTable::Cursor>> told{};  // peers that dialled it
  std::set<uint64_t> streams{};                                            // in which it has a part
  Time pump_at{};                                                          // timers that are set
  Time drain_at{};
};

struct Agent {
  std::unique_ptr<AgentPool> pool;
  std::string name{};
  std::string zone{};
  Time tick_at{};
  std::map<TunnelId, uint64_t> connections{};
  Time last_usable{};
};

struct Stream {
  uint64_t id = 0;
  size_t agent = 0;
  uint64_t connection = 0;
  uint64_t ingress = 0;  // processes
  uint64_t holder = 0;
  Time ends{};
};

class World {
 public:
  World(const FleetOptions& options, uint64_t seed);

  Time now() const { return now_; }
  void at(Time when, std::function<void()> what);
  void run_for(Duration length);

  // Faults. A place is where one proxy after the other may run.
  void start(size_t place);
  void kill(size_t place);
  void drain(size_t place, bool restart);
  void cut(size_t agent, size_t place, bool is_cut);
  void cut_peers(size_t one, size_t other, bool is_cut);
  void slow(size_t agent, size_t place, Duration latency);
  void set_controllers(bool up);
  // New proxies of the next generation beside the old ones, which then drain one after the other.
  void roll_out();
  void heal();
  void stop_clients() { clients_ = false; }
  // Opens a stream through some proxy, to some agent.
  void open_stream();
  void clients_per_second(double rate);

  // Whether the agent could have a tunnel to the place, and since when.
  std::optional<Time> reachable_since(size_t agent, size_t place) const;
  bool works(const Connection& connection) const;
  size_t working(size_t agent) const;  // tunnels that would carry a stream

  Process* process(size_t place);
  size_t places() const { return processes_.size(); }
  std::vector<Agent>& agents() { return agents_; }
  const FleetStats& stats() const { return stats_; }
  const FleetOptions& options() const { return options_; }
  size_t running_streams() const { return streams_.size(); }
  Rng& rng() { return rng_; }
  bool controllers() const { return controllers_; }

 private:
  struct Queued {
    Time when;
    uint64_t order;
    std::function<void()> what;
    bool operator>(const Queued& other) const {
      return std::tie(when, order) > std::tie(other.when, other.order);
    }
  };

  // The network (fleet_world.cc).
  bool is_cut(size_t agent, size_t place) const { return cuts_.contains({agent, place}); }
  Duration latency(size_t agent, size_t place) const;
  void to_agent(uint64_t connection, std::function<void(Agent&, Connection&)> what, Time sent);
  void to_proxy(uint64_t connection, std::function<void(Process&, Connection&)> what, Time sent);
  Connection* find(uint64_t connection);
  Process* running(uint64_t number);

  // Agents (fleet_agents.cc).
  void feed(size_t agent, const std::function<Actions(AgentPool&)>& input);
  void carry_out(size_t agent, const Action& action);
  void dial(size_t agent, const Dial& dial);
  void knock(uint64_t connection);
  void dial_ended(uint64_t connection, const std::function<Actions(AgentPool&, TunnelId)>& how);
  void close_at_agent(Connection& connection);
  void drain_at_agent(Connection& connection);
  void end_if_drained(Connection& connection);
  void forget_if_over(uint64_t connection);
  void connection_lost(uint64_t connection);

  // Proxies (fleet_proxies.cc).
  void tick(uint64_t number);
  void pump(Process& process);
  void begin_handshake(Process& process, const Admission::Start& start);
  void hello(uint64_t connection, std::optional<Duration> refuse);
  void welcome(Process& process, Connection& connection);
  void refuse(Process& process, Connection& connection, Duration retry_after);
  void pump_drain(Process& process);
  void carry_out(Process& process, const DrainStep& step);
  void gone_at_proxy(Process& process, Connection& connection);
  void end_process(size_t place);
  void tell_agents(Process& process);
  void link_peers(Process& process);
  void announce(uint64_t number, bool again);
  void client_comes(Duration every);
  void end_stream(uint64_t stream, bool lost);
  Connection* way(Process& ingress, const route::Choice& choice, Process*& holder);

  FleetOptions options_;
  Rng rng_;
  Time now_{std::chrono::hours(1)};
  uint64_t order_ = 0;
  std::priority_queue<Queued, std::vector<Queued>, std::greater<>> queue_;
  std::vector<Agent> agents_;
  std::vector<std::unique_ptr<Process>> processes_;  // by place
  std::map<uint64_t, Process*> by_number_;
  std::map<uint64_t, Connection> connections_;
  std::map<uint64_t, Stream> streams_;
  std::map<std::pair<size_t, size_t>, Time> cuts_;  // agent and place
  std::map<std::pair<size_t, size_t>, Time> healed_;
  std::map<std::pair<size_t, size_t>, Duration> slow_;
  std::set<std::pair<size_t, size_t>> peer_cuts_;
  std::map<std::string, Discovery::Entry> store_;
  std::set<size_t> restarts_;  // places whose proxy starts again once it has ended
  bool controllers_ = true;
  bool clients_ = false;
  uint64_t generation_ = 1;
  uint64_t last_number_ = 0;
  uint64_t last_connection_ = 0;
  uint64_t last_stream_ = 0;
  FleetStats stats_;
};

}  // namespace holdfast::tunnel::fleet

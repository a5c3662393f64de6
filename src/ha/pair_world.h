// The pair, its witness, its clients and the agents that obey it in one process and one thread: the
// real Half, Shipping, may_replace() and EpochGuard, on simulated disks, clocks and networks. Same
// seed, same run.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "base/rng.h"
#include "ha/half.h"
#include "ha/pair_bugs.h"
#include "ha/pair_checks.h"
#include "ha/pair_disk.h"
#include "ha/quarantine.h"
#include "ha/shipping.h"
#include "rpc/epoch_guard.h"

namespace holdfast::ha::sim {

inline constexpr size_t kWitness = 2;
inline constexpr size_t kClients = 5;
inline constexpr size_t kAgents = 3;
inline constexpr size_t kFirstClient = 3;
inline constexpr size_t kFirstAgent = kFirstClient + kClients;
inline constexpr size_t kPlaces = kFirstAgent + kAgents;
inline constexpr uint32_t kKeys = 8;

struct WorldOptions {
  Mode mode = Mode::Witness;
  Timing timing{};
  std::optional<Timing> backups_timing{};  // else the same
  std::array<double, 2> rate{1, 1};        // of the nodes' clocks
  Duration client_timeout = std::chrono::seconds(3);
  uint64_t seed = 1;
  Bug bug = Bug::None;
  bool verbose = false;
};

// What the network does to messages now.
struct Weather {
  uint64_t loss_percent = 0;
  uint64_t duplicate_percent = 0;
  Duration delay = std::chrono::microseconds(200);       // at most twice that
  Duration disk_delay = std::chrono::microseconds(500);  // at most twice that
  uint64_t flip_percent = 0;  // of shipments: one of their entries is not what was written
  bool storm = false;         // who is not answered soon asks again and again, anywhere
};

// How often writing to a disk fails. What was only not synced may be there after a crash all the
// same; what did not fit is not.
struct DiskErrors {
  uint64_t percent = 0;
  bool is_full = false;
};

struct Request {
  size_t client = 0;
  uint64_t id = 0;
  bool is_write = false;
  uint32_t key = 0;
  uint64_t value = 0;
};
struct Reply {
  enum class Kind : uint8_t { Done, Refused, Unknown, Redirected };
  Kind kind = Kind::Refused;
  store::Revision revision = 0;  // of the write, or of what was read
  uint64_t value = 0;
};

struct Replicate {
  Epoch epoch = 0;
  uint64_t life = 0;  // of the sender
  Shipment shipment{};
  std::vector<Write> writes{};
  std::shared_ptr<const Disk> copy{};
  Head after{};  // the receiver's, when it answered last
};

class Node {
 public:
  struct Waiter {
    Request request;
    store::Revision until = 0;
    Reply reply{};
    Time since{};
  };
  struct Waiting {
    Request request;
    Time until{};
  };
  // Done on the disk, in order; `then` runs only if the process is still there.
  struct DiskWork {
    std::function<void()> apply;  // not called if the disk fails
    std::function<void()> then;
    bool writes = true;
  };

  Member me = Member::Primary;
  Disk disk;
  std::deque<DiskWork> work;
  bool disk_busy = false;
  DiskErrors disk_errors{};
  std::function<void()> unsynced;  // failed, and may be there after a crash
  std::vector<Quarantine> quarantines;
  bool up = false;
  bool paused = false;
  bool machine_up = true;
  Time paused_since{};
  Duration asleep{};  // in all
  uint64_t life = 0;
  std::vector<std::function<void()>> inbox;  // came while it was paused
  std::optional<Half> half;
  Shipping shipping;
  std::vector<Waiter> waiters;
  std::vector<Waiting> waiting;
  size_t commits = 0;  // on their way to the disk
  bool quiesce = false;
  uint32_t schema_min = 1;
  uint32_t schema_max = 2;
  uint64_t open_call = 0;  // the shipment that is not answered yet
  Head answered{};         // by the peer, last
  Head broken_at{};        // what came after it did not fit by its chain
  uint64_t copies = 0;
  Time tick_at{};  // the earliest that is scheduled, in world time
};

struct Client {
  bool writes = false;
  size_t target = 0;
  bool pinned = false;  // it does not go elsewhere
  uint64_t last_id = 0;
  Request request{};
  Time began{};
  store::Revision at_least = 0;  // what a read must show
  bool busy = false;
  int sends = 0;  // of this request
};

// Does what controllers say, unless it has seen a later epoch.
struct Agent {
  Epoch kept = 0;                          // on its disk
  std::optional<rpc::EpochGuard> guard{};  // nothing: it is not running
  size_t target = 0;
  bool was_told = false;  // something, since it asked last
  uint64_t life = 0;
};

class World {
 public:
  explicit World(const WorldOptions& options);

  Time now() const { return now_; }
  Rng& rng() { return rng_; }
  const WorldOptions& options() const { return options_; }
  void run_until(Time end);
  void at(Time when, std::function<void()> what);
  void after(Duration length, std::function<void()> what) { at(now_ + length, std::move(what)); }
  // The same for what goes wrong: not once all has healed.
  void later(Duration length, std::function<void()> what);

  // What goes wrong.
  Weather& weather() { return weather_; }
  void cut(size_t from, size_t to, bool is_cut) { cut_[from][to] = is_cut; }
  void clog(size_t from, size_t to, Time until) { clogged_[from][to] = until; }
  void crash(size_t node, bool machine);
  void start(size_t node);
  void pause(size_t node);
  void resume(size_t node);
  void set_witness(bool up);
  void set_witness_disk(const DiskErrors& errors) { witness_errors_ = errors; }
  void set_disk(size_t node, const DiskErrors& errors);
  void rot(size_t node);  // one of the latest rows of its history
  void restart_agent(size_t agent, Duration down);
  bool wipe(size_t node);  // false: that would destroy the last copy of something
  void switch_over(size_t node);
  void compact(size_t node);
  void heal();
  // Readers ask `half` only, writers the other one, until they are let go.
  void pin_clients(size_t half);
  void let_clients_go();
  void set_clients(bool on) { clients_on_ = on; }

  Node& node(size_t index) { return nodes_[index]; }
  const Record& record() const { return record_; }
  std::optional<size_t> active() const;  // of the highest epoch
  Checks& checks() { return checks_; }
  // Exactly one is active, the other is in sync with it, and clients write.
  bool has_converged() const;
  bool is_obeyed() const;        // the active half, by every agent
  std::string describe() const;  // both halves, for a failure
  uint64_t trace() const { return trace_; }
  Time last_ack() const { return last_ack_; }  // that a client heard of
  // The longest time without one from now on.
  void measure() {
    longest_counts_ = true;
    longest_ = {};
    heard_before_ = now_;
  }
  Duration longest_without_ack() const { return std::max(longest_, now_ - heard_before_); }
  Time local(size_t node) const;
  void say(const std::string& what) const;

 private:
  struct Queued {
    Time when;
    uint64_t order;
    std::function<void()> what;
    bool operator>(const Queued& other) const {
      return std::pair(when, order) > std::pair(other.when, other.order);
    }
  };

  // Delivers unless it is lost; `node` processes get it when they run.
  void post(size_t from, size_t to, std::function<void()> deliver, bool once = false);
  void in_process(size_t index, uint64_t life, std::function<void()> what);
  void settle(Node& node);
  Time world_time(size_t node, Time local) const;
  const Timing& timing_of(size_t node) const {
    return node == 1 && options_.backups_timing ? *options_.backups_timing : options_.timing;
  }
  size_t index_of(const Node& node) const { return static_cast<size_t>(node.me); }

  // pair_node.cc
  void carry(Node& node, const HalfActions& actions);
  void tick(Node& node);
  void schedule_tick(Node& node);
  void beat_now(Node& node);
  void beat_regularly(Node& node);
  void knock(Node& node);
  void on_request(Node& node, const Request& request, std::optional<Time> until);
  void serve(Node& node, const Request& request);
  void serve_read(Node& node, const Request& request);
  void retry_waiting(Node& node);
  void answer_waiters(Node& node);
  bool has(Bug bug) const { return options_.bug == bug; }
  void submit(Node& node, Node::DiskWork work);
  void run_disk(Node& node);
  void disk_done(size_t index);
  void begin_tenure(Node& node, Epoch epoch);
  void ship(Node& node);
  void on_replicate(Node& node, const Replicate& message);
  void take_copy(Node& node, const Replicate& message);
  // kFailedPrecondition: it is not to be taken. Another error: the disk does not.
  void answer_replicate(Node& node, const Replicate& message, Result<ShipmentAnswer> answer);
  void on_shipment_answer(Node& node, const Replicate& sent, const Result<ShipmentAnswer>& answer,
                          const std::string& store_id);
  void maybe_quiet(Node& node);
  // pair_clients.cc
  void ask_witness(Node& node, const AskWitness& ask);
  bool change_record(const RecordChange& change);
  void client_turn(size_t index);
  void client_asks(size_t index);
  void client_answer(size_t index, uint64_t id, const Reply& reply);
  void client_gives_up(size_t index, uint64_t id);
  void reply(Node& node, const Request& request, const Reply& reply);
  // pair_agents.cc
  void agent_turn(size_t index);
  void on_agent(Node& node, size_t agent, Epoch known);
  void on_order(size_t agent, Epoch epoch);

  WorldOptions options_;
  Rng rng_;
  Time now_{std::chrono::hours(1)};
  std::priority_queue<Queued, std::vector<Queued>, std::greater<>> queue_;
  uint64_t order_ = 0;
  uint64_t trace_ = 0;
  Weather weather_{};
  std::array<std::array<bool, kPlaces>, kPlaces> cut_{};
  std::array<std::array<Time, kPlaces>, kPlaces> clogged_{};
  std::array<Node, 2> nodes_;
  std::array<Client, kClients> clients_;
  std::array<Agent, kAgents> agents_;
  Record record_{};
  std::optional<Record> unsynced_record_{};  // failed, and may be there after a crash
  DiskErrors witness_errors_{};
  bool witness_up_ = true;
  int changes_in_flight_ = 0;
  bool clients_on_ = true;
  bool healed_ = false;
  uint64_t last_value_ = 0;
  uint64_t last_life_ = 0;
  Time last_ack_{};
  Time heard_before_{};
  Duration longest_{};
  bool longest_counts_ = false;
  Checks checks_;
};

}  // namespace holdfast::ha::sim

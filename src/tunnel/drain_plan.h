// The order in which a proxy leaves, and when each step is due.
//
//   begin ─► Deregister ─► TellOthers ─► Advise, Advise, ... ─► StopListening ─► Close
//              at most                     jittered order,         when the       no streams, and
//              2 s, then                   bounded rate            last is        the agents moved
//              or on without it                                       advised        had time to
//
// The hard deadline closes whatever is left in any phase, and so does hurry(); but not before it
// was deregistered, or could not be in time. A tunnel that comes in meanwhile is advised too.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "tunnel/advice_schedule.h"
#include "tunnel/tunnel_table.h"

namespace holdfast::tunnel {

struct DrainOptions {
  Duration deadline = std::chrono::minutes(5);           // from begin(); then all is closed,
  Duration deregister_within = std::chrono::seconds(2);  // or when this is over, if it is later
  Duration advise_over = std::chrono::seconds(2);        // at least this long for all,
  uint32_t advise_per_second = 50;  // and no faster than this, if the deadline lets
  // Agents with no stream that have nowhere to go are not waited for longer than this.
  Duration move_within = std::chrono::seconds(20);
  // The same when no other proxy is known that they could go to.
  Duration alone_within = std::chrono::seconds(2);
};

enum class DrainPhase : uint8_t { Running, Deregistering, Advising, Waiting, Closed };
std::string_view to_string(DrainPhase phase);  // "running"

struct Deregister {};  // announce "draining"; answer with deregistered()
struct TellOthers {};  // discovery and peers: draining; refuse new tunnels from here on
// For clients, after what the backlog has. Streams from peers are refused when the agents had their
// time to move: until then this may be the only way to them.
struct StopListening {};
struct AdviseTunnel {
  TunnelId tunnel = 0;
  Duration closes_in{};
};
struct CloseAll {
  bool in_time = true;  // false: the deadline or hurry() cut what was left
};
using DrainStep = std::variant<Deregister, TellOthers, AdviseTunnel, StopListening, CloseAll>;

// What is still there.
struct DrainLoad {
  uint64_t streams = 0;
  uint64_t tunnels = 0;
  bool alone = false;  // no other proxy is known that takes tunnels
};

class DrainPlan {
 public:
  DrainPlan(DrainOptions options, uint64_t seed);

  // `deadline` replaces the options' one. The second time only an earlier deadline counts.
  void begin(std::vector<TunnelId> tunnels, Time now, std::optional<Duration> deadline = {});
  // The announcement was delivered, or failed: both go on.
  void deregistered();
  void tunnel_added(TunnelId tunnel, Time now);
  void tunnel_gone(TunnelId tunnel);
  // A second signal: close all at the next tick, if it is deregistered. Begins if it had not.
  void hurry(Time now);

  // What to do now, in this order. Call after each of the above, whenever the load falls to zero,
  // and at next_deadline().
  std::vector<DrainStep> on_tick(const DrainLoad& load, Time now);
  std::optional<Time> next_deadline() const;

  DrainPhase phase() const { return phase_; }
  bool is_draining() const { return phase_ != DrainPhase::Running; }
  std::optional<Time> deadline() const;  // absent: not draining
  // Those who were advised had their time to move.
  bool move_is_over() const { return move_is_over_; }
  size_t advised() const { return advised_; }
  size_t to_advise() const { return advice_.size(); }

 private:
  void deregister(std::vector<DrainStep>& steps, Time now);
  void advise(std::vector<DrainStep>& steps, Time now);
  bool is_over(const DrainLoad& load) const;
  Time moved_by() const;

  DrainOptions options_;
  AdviceSchedule advice_;
  std::vector<TunnelId> tunnels_;  // until they are scheduled
  DrainPhase phase_ = DrainPhase::Running;
  bool told_deregister_ = false;
  bool deregistered_ = false;
  bool hurried_ = false;
  Time began_{};
  Time deadline_{};
  Time advice_ended_{};
  bool looked_again_ = false;  // at the load, since listening stopped
  bool alone_ = false;
  bool move_is_over_ = false;  // those that could move had their time
  size_t advised_ = 0;
};

}  // namespace holdfast::tunnel

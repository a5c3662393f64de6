// The tunnels a proxy holds: per agent, oldest to newest. Decides which one a new stream takes and
// which are to be closed, keeps Routes up to date, and says what peers are to be told.
//
//   add ─► not heard from ─heard()─► valid ◄──heard()──┐
//                                      │ silent_after, │ or a stream showed that it is dead
//                                      └────────► invalid ── close_after, and no streams ─► close
//   leave(): the agent takes no new streams on it; any state
//
// A stream takes the newest tunnel that was heard from, is valid and not leaving; if there is none,
// the newest invalid one: a tunnel that seems dead is better than no tunnel.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "holdfast/v1/tunnel.pb.h"
#include "route/routes.h"

namespace holdfast::tunnel {

using TunnelId = uint64_t;  // never 0, never used twice

struct TunnelTableOptions {
  size_t max_tunnels = 20'000;
  size_t max_per_agent = 8;                         // that take streams
  size_t max_leaving_per_agent = 64;                // besides: what runs there may finish
  Duration silent_after = std::chrono::seconds(6);  // keepalive x misses: then it is invalid
  Duration close_after = std::chrono::seconds(18);  // of silence; only without streams
  size_t max_gone = 8'192;  // agents that left, remembered for peers that are behind
};

struct NewTunnel {
  std::string agent{};
  std::string zone{};
  uint64_t boot = 0;  // of the agent's process
  v1::Exposed exposed{};
};

struct TunnelRow {
  TunnelId id = 0;
  std::string agent{};
  std::string zone{};
  uint64_t boot = 0;
  Time since{};
  Time last_heard{};
  uint32_t streams = 0;
  bool heard = false;
  bool valid = true;
  bool leaving = false;
  Time looked_at_next{};  // the table's
};

struct TunnelTableStats {
  uint64_t added = 0;
  uint64_t removed = 0;
  uint64_t refused_all = 0;    // at max_tunnels
  uint64_t refused_agent = 0;  // at a limit per agent
  uint64_t invalidated = 0;
  uint64_t revived = 0;
  uint64_t last_resort = 0;  // streams that got an invalid tunnel
};

class TunnelTable {
 public:
  TunnelTable(TunnelTableOptions options, route::Routes& routes);
  ~TunnelTable();
  TunnelTable(const TunnelTable&) = delete;
  TunnelTable& operator=(const TunnelTable&) = delete;

  // The newest of its agent. kResourceExhausted HF2104: too many in all; HF2105: of this agent.
  Result<TunnelId> add(const NewTunnel& tunnel, Time now);
  void remove(TunnelId id);
  // Something came on it at that time, after it was welcomed.
  void heard(TunnelId id, Time when);
  void exposed(TunnelId id, const v1::Exposed& exposed);
  // The agent said goodbye on it.
  void leave(TunnelId id);
  // A stream could not be opened because the tunnel does not carry anything. True: close it now.
  bool found_dead(TunnelId id);

  // The tunnel for a new stream to an agent.
  std::optional<TunnelId> select(std::string_view agent);
  void stream_opened(TunnelId id);
  void stream_closed(TunnelId id);

  // Marks the silent ones. Returns those to close.
  std::vector<TunnelId> on_tick(Time now);
  std::optional<Time> next_deadline() const;
  // As soon as the networking config changes.
  void set_silence(Duration silent_after, Duration close_after);

  // The next message for a peer, below max_bytes: all the agents held first, then what changed.
  // Absent: it knows everything. An empty cursor is a new peer's.
  struct Cursor {
    std::optional<uint64_t> seen{};
    std::optional<uint64_t> full_until{};  // while the full list is being told
  };
  std::optional<v1::Holding> next_holding(Cursor& cursor, size_t max_bytes) const;

  std::optional<TunnelRow> find(TunnelId id) const;
  std::vector<TunnelRow> rows() const;                      // in order of age
  std::vector<TunnelId> tunnels() const;                    // the same
  std::vector<TunnelRow> of(std::string_view agent) const;  // oldest first
  size_t tunnel_count() const { return tunnels_.size(); }
  size_t agent_count() const { return changes_.size(); }  // that peers are told of
  uint64_t stream_count() const { return streams_; }
  const TunnelTableStats& stats() const { return stats_; }

 private:
  struct Agent;

  TunnelRow* row(TunnelId id);
  Agent& agent_of(const TunnelRow& tunnel);
  // What routes and peers know of the agent is made what its tunnels say.
  void update(Agent& agent, bool facts_changed);
  // True if that changed what is known of the agent.
  bool listen_to_newest(Agent& agent);
  void note_held(Agent& agent);
  void note_gone(Agent& agent);
  void look_again(TunnelRow& tunnel, Time at);

  TunnelTableOptions options_;
  route::Routes& routes_;
  std::map<TunnelId, TunnelRow> tunnels_;
  std::unordered_map<TunnelId, route::AgentFacts> said_;  // by each
  std::unordered_map<std::string, std::unique_ptr<Agent>> agents_;
  std::set<std::pair<Time, TunnelId>> silences_;  // when each tunnel is looked at again
  std::map<uint64_t, const Agent*> changes_;      // held agents by the version of their last change
  std::map<uint64_t, std::string> gone_;          // agents that left, by when
  std::unordered_map<std::string, uint64_t> gone_at_;
  uint64_t version_ = 0;
  uint64_t forgotten_ = 0;  // departures up to this version are no longer known
  TunnelId last_id_ = 0;
  uint64_t streams_ = 0;
  TunnelTableStats stats_;
};

}  // namespace holdfast::tunnel

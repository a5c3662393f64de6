// What the other proxies hold: who can reach an agent that has no tunnel here. Fed by the Holding
// messages of links that this proxy dialled; keeps Routes up to date.
//
//   linked ─► Holding full, more, more, ─► Holding changes ... ─► lost ─ grace ─► forgotten
//               what was known before is kept until the list is whole      │
//               linked again: known as before, usable at once ◄────────────┘
//
// What a peer holds is not passed on to other peers, and a stream that came from a peer only takes
// own tunnels: one hop, never a loop.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "holdfast/v1/tunnel.pb.h"
#include "route/routes.h"

namespace holdfast::tunnel {

struct PeerTableOptions {
  size_t max_peers = 256;
  size_t max_agents_per_peer = 20'000;  // further ones are not taken
  size_t max_entries = 200'000;         // of all peers
  Duration grace = std::chrono::seconds(10);
};

struct PeerTableStats {
  uint64_t messages = 0;
  uint64_t dropped_agents = 0;  // beyond a limit
  uint64_t refused_peers = 0;
  uint64_t forgotten = 0;  // peers whose grace ended
};

class PeerTable {
 public:
  PeerTable(PeerTableOptions options, route::Routes& routes);
  ~PeerTable();
  PeerTable(const PeerTable&) = delete;
  PeerTable& operator=(const PeerTable&) = delete;

  // The link to a peer is up. kResourceExhausted HF2106: too many peers.
  Status linked(std::string_view peer, std::string_view zone);
  // What it said. Requires: linked. kInvalidArgument HF2107: a change before the full list.
  Status holding(std::string_view peer, const v1::Holding& holding);
  void lost(std::string_view peer, Time now);

  // Forgets those whose grace is over.
  void on_tick(Time now);
  std::optional<Time> next_deadline() const;

  // Linked peers that hold the agent, in order of name.
  std::vector<std::string> holders(std::string_view agent) const;
  bool is_linked(std::string_view peer) const;
  // Whether it is linked and has told all that it holds.
  bool is_whole(std::string_view peer) const;
  struct Row {
    std::string peer{};
    std::string zone{};
    bool linked = false;
    size_t agents = 0;
  };
  std::vector<Row> rows() const;
  size_t entry_count() const { return entries_; }
  const PeerTableStats& stats() const { return stats_; }

 private:
  struct Peer;

  void take(const std::string& name, Peer& peer, const v1::HeldAgent& agent);
  void drop(const std::string& name, Peer& peer, std::string_view agent);
  void sweep(const std::string& name, Peer& peer);

  PeerTableOptions options_;
  route::Routes& routes_;
  std::map<std::string, Peer, std::less<>> peers_;
  size_t entries_ = 0;
  PeerTableStats stats_;
};

}  // namespace holdfast::tunnel

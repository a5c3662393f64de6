// Which nodes are there, until when, and who has fallen silent. A controller's view of the whole
// fleet, its own announcements and those that other controllers took.
//
//              heard, observed                deadline passes
//   (unknown) ───────────────► online until D ───────────────► overdue ──┐ observed
//       ▲                        ▲   ▲                           │       ▼
//       │ observed as gone       │   └── heard, observed ────────┴──── offline
//
// Deadlines are monotonic and count from when this process saw the heartbeat: neither a clock that
// jumps nor another controller's clock takes a node offline. An overdue node is returned once, and
// again after `retry` for as long as nothing else is observed of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "health/instances.h"

namespace holdfast::health {

enum class NodeKind : uint8_t { Controller, Proxy, Agent };
inline constexpr size_t kNodeKinds = 3;

struct NodeId {
  NodeKind kind = NodeKind::Agent;
  std::string name{};
  bool operator==(const NodeId&) const = default;
};

// What the store says of a node.
struct Presence {
  NodeId id;
  WallTime last_heartbeat;
  Duration ttl{0};
  bool offline = false;
  InstanceId instance = 0;  // whose announcement it was
};

struct Overdue {
  NodeId id;
  WallTime last_heartbeat;  // the one that was not followed by another
  Time deadline;
  bool operator==(const Overdue&) const = default;
};

struct NodeCounts {
  size_t online = 0;
  size_t offline = 0;
  bool operator==(const NodeCounts&) const = default;
};

struct PresenceTableOptions {
  Duration retry = std::chrono::seconds(5);
  // Longer between two ticks, and this process itself was away: everybody gets a grace.
  Duration stall = std::chrono::seconds(2);
};

class PresenceTable {
 public:
  explicit PresenceTable(PresenceTableOptions options) : options_(options) {}
  PresenceTable(PresenceTable&&) = default;
  PresenceTable& operator=(PresenceTable&&) = default;

  // All nodes of a kind as the store has them. Each one online gets a whole TTL from now, since
  // nobody watched the clock for it until now.
  void reset(NodeKind kind, const std::vector<Presence>& all, Time now);
  // A node announced itself here; the store does not know yet.
  void heard(const NodeId& id, const Sighting& sighting, Duration ttl, Time now);
  // A change in the store.
  void observed(const Presence& presence, Time now);
  void observed_gone(const NodeId& id);

  // Another process that speaks under the name, if this one does so now; 0: none.
  InstanceId other_instance(const NodeId& id, InstanceId instance, Time now) const;
  bool are_two(const NodeId& id, Time now) const;
  // This process says goodbye here. Whether the node is gone: nobody else is there under its name.
  bool leave(const NodeId& id, InstanceId instance, Time now);

  // This controller was cut off from its store or its clients: whoever seems late had no chance.
  // Every node that is online gets at least a whole TTL from now.
  void grant_grace(Time now);

  // Up to `limit` nodes whose deadline has passed, the longest overdue first. None right after a
  // stall.
  std::vector<Overdue> on_tick(Time now, size_t limit);
  // When on_tick() may have something to say.
  std::optional<Time> next_deadline() const;

  NodeCounts counts(NodeKind kind) const { return counts_[static_cast<size_t>(kind)]; }
  uint64_t graces() const { return graces_; }  // after stalls and those asked for

 private:
  struct Entry {
    NodeId id;
    WallTime heartbeat{};
    Duration ttl{0};
    Time deadline{};  // of the node
    Time due{};       // when to look at it: the deadline, or later to try again
    bool offline = false;
    size_t heap_index = kNoIndex;  // in due_
    Instances instances{};
  };
  static constexpr size_t kNoIndex = SIZE_MAX;
  struct NameHash {
    using is_transparent = void;
    size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
  };
  using Entries = std::unordered_map<std::string, Entry, NameHash, std::equal_to<>>;

  Entry& find_or_add(const NodeId& id);
  const Entry* find(const NodeId& id) const;
  void set_online(Entry& entry, Time deadline);
  void set_offline(Entry& entry);
  void erase(Entry& entry);
  NodeCounts& counts_of(const Entry& entry) { return counts_[static_cast<size_t>(entry.id.kind)]; }

  // A binary heap by `due` in which each entry knows its place, so that it moves instead of being
  // added again: never more places than nodes.
  void schedule(Entry& entry, Time due);
  void unschedule(Entry& entry);
  void place(size_t index, Entry* entry);
  void sift_up(size_t index);
  void sift_down(size_t index);

  PresenceTableOptions options_;
  std::array<Entries, kNodeKinds> entries_;
  std::array<NodeCounts, kNodeKinds> counts_{};
  std::vector<Entry*> due_;
  std::optional<Time> last_tick_;
  uint64_t graces_ = 0;
};

}  // namespace holdfast::health

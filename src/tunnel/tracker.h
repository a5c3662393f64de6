// Decides how many more tunnels an agent needs, and to which proxies. It knows the proxies that
// were mentioned lately, the ones that tunnels claim, and how many attempts are under way.
//
//   try_lease() ─► Lease ─ claim(name) ─► a proxy of ours, exclusively
//                    └── release(), or its end ──► as if it had never been
//
// A lease gives back what it holds when it ends, so that a path that forgets it cannot exist.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace holdfast::tunnel {

// A proxy as discovery, the cache or its own welcome tells of it.
struct ProxyInfo {
  std::string name;
  std::string zone;
  std::string group;
  uint64_t generation = 0;
  Duration ttl = Duration::zero();  // zero: not said
  std::string address;              // HOST:PORT of its tunnels; empty: not said
  bool draining = false;

  bool operator==(const ProxyInfo&) const = default;
};

struct TrackedProxy {
  ProxyInfo info;
  Time expires;
};

struct TrackerOptions {
  uint32_t connection_count = 2;  // 0: a tunnel to every desired proxy
  Duration default_ttl = std::chrono::minutes(3);
  Duration max_ttl = std::chrono::hours(1);  // a longer one is cut to it
  size_t max_proxies = 1'024;                // further ones are ignored, and counted
  size_t max_text_bytes = 256;               // of a name, zone, group or address; else ignored
};

struct TrackerStats {
  uint64_t ignored_full = 0;
  uint64_t ignored_bad = 0;
  uint64_t expired = 0;
  uint64_t evaluations = 0;  // lease questions that had to be worked out
  uint64_t denied = 0;       // lease questions answered with no
  uint64_t already_claimed = 0;
};

class Tracker;

// The right to one tunnel: under way until it claims a proxy. Gives everything back at its end.
// Requires: the tracker outlives it.
class Lease {
 public:
  Lease() = default;
  Lease(Lease&& other) noexcept;
  Lease& operator=(Lease&& other) noexcept;
  ~Lease() { release(); }

  // False if another lease has claimed it; the lease stays as it is. Requires: held, nothing
  // claimed yet.
  bool claim(std::string_view proxy);
  // May be called any number of times.
  void release();

  bool is_held() const { return tracker_ != nullptr; }
  const std::string& claimed() const { return proxy_; }  // empty: nothing yet

 private:
  friend class Tracker;
  explicit Lease(Tracker& tracker) : tracker_(&tracker) {}

  Tracker* tracker_ = nullptr;
  std::string proxy_;
};

class Tracker {
 public:
  Tracker(TrackerOptions options, Time now) : options_(options), last_topology_change_(now) {}
  Tracker(const Tracker&) = delete;
  Tracker& operator=(const Tracker&) = delete;

  // The proxy was heard from: it counts for another TTL. An empty address or a TTL of zero keeps
  // what is known. False if it was ignored.
  bool mention(const ProxyInfo& proxy, Time now);
  // Removes and returns those whose time is over.
  std::vector<TrackedProxy> expire(Time now);
  std::optional<Time> next_deadline() const;
  void set_connection_count(uint32_t count, Time now);

  // One more tunnel, if one is missing. What expired must have been removed before.
  std::optional<Lease> try_lease();
  // Whether one would be given.
  bool may_lease() const;

  // A tunnel is to move away from this proxy: neither it nor its claim count until `leaving` is
  // taken back or the claim is released.
  void set_leaving(std::string_view proxy, bool leaving);

  const std::map<std::string, TrackedProxy, std::less<>>& tracked() const { return tracked_; }
  // Of the highest generation of its group, not draining, not leaving.
  bool is_desired(std::string_view proxy) const;
  bool is_claimed(std::string_view proxy) const { return claimed_.contains(proxy); }
  size_t desired() const;        // proxies
  size_t desired_count() const;  // tunnels
  size_t claimed() const { return claimed_.size(); }
  size_t claimed_desired() const;
  size_t inflight() const { return inflight_; }
  uint32_t connection_count() const { return options_.connection_count; }
  // Proxies came, went, expired, changed group, generation or draining; or the count changed.
  Time last_topology_change() const { return last_topology_change_; }
  const TrackerStats& stats() const { return stats_; }

 private:
  friend class Lease;
  bool claim(std::string_view proxy);
  void release(const std::string& claimed);
  bool is_acceptable(const ProxyInfo& proxy) const;
  void topology_changed(Time now);
  void changed() { denied_ = false; }

  TrackerOptions options_;
  std::map<std::string, TrackedProxy, std::less<>> tracked_;
  std::map<std::string, uint64_t, std::less<>> generations_;  // the highest of each group
  std::set<std::string, std::less<>> claimed_;
  std::set<std::string, std::less<>> leaving_;
  size_t inflight_ = 0;
  bool denied_ = false;  // the last answer was no and nothing has changed since
  Time last_topology_change_;
  TrackerStats stats_;
};

}  // namespace holdfast::tunnel

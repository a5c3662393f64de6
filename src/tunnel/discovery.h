// What a proxy tells its agents about the proxies there are. Everything is numbered by when it was
// last heard from; each agent's tunnel has a cursor into that one sequence, and agents at the same
// place get the same bytes.
//
//   heartbeats, peer links, itself ─► proxies by version  ┌────┬────┬────┐
//                                                         │ 41 │ 44 │ 45 │ ◄ version
//                                                         └────┴────┴────┘
//             a cursor at 43 is told of 44 and 45; one at 45 of nothing; a new one of all
//
// A proxy is heard from when its heartbeat in the cache has changed (nothing of its value but that
// it is another), or while its peer link is alive, which goes on without controllers. Only the
// local time of hearing counts, and who was not heard from within the TTL is not mentioned: agents
// then let it expire. Nobody is ever told that a proxy is gone.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/rng.h"
#include "holdfast/v1/tunnel.pb.h"

namespace holdfast::tunnel {

struct DiscoveryOptions {
  std::string self{};  // this proxy's name
  // This proxy's announce TTL, to begin with: what agents are told for every proxy.
  Duration ttl = std::chrono::seconds(60);
  Duration max_resync = std::chrono::minutes(2);  // or two thirds of the TTL, if that is less
  size_t max_proxies = 1'024;                     // further ones are not told
  size_t max_message_bytes = 60'000;
};

// A proxy as the cache, or this process, knows it.
struct ProxyFacts {
  std::string name{};
  std::string zone{};
  std::string group{};
  uint64_t generation = 0;
  std::string tunnel_address{};
  bool draining = false;
  bool operator==(const ProxyFacts&) const = default;
};

struct DiscoveryStats {
  uint64_t heard = 0;
  uint64_t refused = 0;         // proxies beyond max_proxies
  uint64_t messages_built = 0;  // encodings; deliveries are the sender's to count
};

class Discovery {
 public:
  // An encoded TunnelMessage.
  using Bytes = std::shared_ptr<const std::string>;
  // One tunnel's place. A new one has been told nothing.
  struct Cursor {
    uint64_t version = 0;
    std::optional<Time> resync_at{};
  };

  Discovery(DiscoveryOptions options, uint64_t seed);

  // From now on; tunnels that were told of a longer one are told everything anew before this one
  // ends.
  void set_ttl(Duration ttl, Time now);
  // This proxy itself, which it always hears from; what it says of itself may change.
  void set_self(const ProxyFacts& facts, Time now);
  // A proxy's entry in the cache. `heartbeat` is any value that differs from one heartbeat to the
  // next; an entry marked offline is not heard from by it.
  struct Entry {
    ProxyFacts facts{};
    int64_t heartbeat = 0;
    bool offline = false;
  };
  void entry(const Entry& entry, Time now);
  void entry_gone(std::string_view name);
  // Something came over the link with that peer; as often as it pleases.
  void peer_alive(std::string_view name, Time now);

  // What a tunnel is to be told now, and moves its cursor; empty: nothing. Cheap if so.
  std::vector<Bytes> take(Cursor& cursor, Time now);
  // Hears from itself. As often as next_deadline() says.
  void on_tick(Time now);
  Time next_deadline() const { return self_due_; }
  // Rises with everything there is to tell: a tunnel at this version waits only for its resync.
  uint64_t version() const { return version_; }
  Duration ttl() const { return options_.ttl; }
  // How often a tunnel is told everything.
  Duration resync_interval() const;

  // As told to a new tunnel.
  std::vector<ProxyFacts> current(Time now) const;
  const DiscoveryStats& stats() const { return stats_; }

 private:
  struct Known {
    ProxyFacts facts{};
    std::optional<int64_t> heartbeat{};
    std::optional<Time> heard{};  // absent: never
    uint64_t version = 0;         // 0: not told yet
  };

  Known* known(std::string_view name);
  void hear(Known& known, Time now);
  void tell(Known& known);
  bool is_current(const Known& proxy, Time now) const;
  Duration refresh_interval() const;
  const std::vector<Bytes>& messages_after(uint64_t version, Time now);
  std::vector<Bytes> build(uint64_t version, Time now);

  DiscoveryOptions options_;
  Rng rng_;
  std::map<std::string, Known, std::less<>> proxies_;
  std::map<uint64_t, const Known*> by_version_;
  uint64_t version_ = 0;
  Time self_due_{};
  // Messages by the version they begin after; 0: the full list. Until the next change, or until a
  // proxy in them has been silent for too long.
  std::unordered_map<uint64_t, std::vector<Bytes>> built_;
  Time built_until_{};
  DiscoveryStats stats_;
};

}  // namespace holdfast::tunnel

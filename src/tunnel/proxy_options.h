// What a proxy's services are told, and what they tell: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/backoff.h"
#include "base/clock.h"
#include "holdfast/v1/resource.pb.h"
#include "route/load.h"
#include "tunnel/admission.h"
#include "tunnel/drain_plan.h"
#include "tunnel/link_service.h"
#include "tunnel/peer_table.h"
#include "tunnel/place_line.h"
#include "tunnel/tunnel_table.h"

namespace holdfast::tunnel {

// How a proxy proves who it is and whom it believes; all in PEM.
struct ProxyIdentity {
  std::string certificate_pem{};
  std::string private_key_pem{};
  std::string ca_pem{};
};

struct ProxyOptions {
  std::string name{};
  std::string cluster{};
  std::string zone{};
  std::string group{};
  uint64_t generation = 0;
  std::string version{};
  uint64_t boot = 0;  // another one in each process
  uint64_t seed = 1;  // of the jitter

  std::string tunnel_listen{};   // HOST:PORT; port 0: any
  std::string peer_listen{};     // HOST:PORT; empty: no peers
  std::string advertise_host{};  // empty: the host it listens on

  // Of the TTL in discovery, until set_announce_ttl() says what it is.
  Duration announce_ttl = std::chrono::seconds(30);
  Duration hello_timeout = std::chrono::seconds(10);
  Duration dial_timeout = std::chrono::seconds(10);  // of StreamDialer::dial(), in all
  Duration open_timeout = std::chrono::seconds(5);   // of one candidate
  // A new proxy takes clients when it knows what its peers hold, or after this long.
  Duration ready_within = std::chrono::seconds(2);
  // What runs on a tunnel whose agent's certificate has expired may go on that long.
  Duration expired_grace = std::chrono::hours(1);
  size_t dial_candidates = 3;
  // Streams of one link with a peer, which are those of many agents.
  uint32_t streams_per_peer = 16'384;
  // Streams that peers may have opened through us at once, in all.
  size_t streams_of_peers = 16'384;
  // Streams that a peer gave up and that we are still opening, on one link: an agent answers when
  // it likes, and the peer's own limit does not count what it has given up.
  size_t given_up_per_peer = 1'024;
  // Between tries to reach a peer.
  BackoffOptions peer_backoff{.first = std::chrono::milliseconds(250),
                              .cap = std::chrono::seconds(8)};

  AdmissionOptions admission{};       // of agents
  AdmissionOptions peer_admission{};  // of proxies
  size_t max_peer_links = 1'024;      // that others dialled
  TunnelTableOptions tunnels{};
  PeerTableOptions peers{};
  DrainOptions drain{};
  // Who finds every zone full and may wait: how long, and how many.
  Duration place_patience = std::chrono::seconds(5);
  // Who may not wait, but finds a small lease taken: for the next grant.
  Duration grant_patience = std::chrono::milliseconds(250);
  PlaceLineOptions place_line{};
  LinkOptions link{};
};

// A proxy as the cache has it, this one or another. One whose last_heartbeat has changed was heard
// from.
struct CachedProxy {
  std::string name{};
  v1::Proxy proxy{};
};

// What services there are, as far as how many connections they take goes.
struct ProxyLoad {
  std::map<std::string, route::Capacity, std::less<>> services{};
  bool has_all = true;               // else `services` are those that are limited, and some others
  std::vector<std::string> zones{};  // as the zone map lists them
  size_t holders = 1;                // that share the capacities, this proxy included
};

struct TunnelStatus {
  std::string agent{};
  std::string zone{};
  std::string address{};
  std::string version{};
  WallTime since{};
  std::optional<Duration> round_trip{};
  size_t streams = 0;
  std::string state{};  // "connected", "advised", "leaving", "silent"
  std::vector<std::string> services{};
};

struct PeerStatus {
  std::string name{};
  std::string zone{};
  std::string address{};
  std::string state{};  // "connected", "connecting", "waiting"
  WallTime since{};     // of its state
  std::optional<Duration> round_trip{};
  size_t streams = 0;
  size_t agents = 0;     // that it says it holds
  std::string reason{};  // why the last try failed
};

struct DrainProgress {
  DrainPhase phase = DrainPhase::Running;
  WallTime since{};     // drain() was called
  WallTime deadline{};  // when the rest is cut
  std::optional<WallTime> ended{};
  size_t tunnels = 0;  // still there
  size_t advised = 0;
  size_t streams = 0;  // still running
  size_t cut = 0;      // streams that ran at the deadline
};

struct ProxyStatus {
  std::vector<TunnelStatus> tunnels{};
  std::vector<PeerStatus> peers{};
  DrainProgress drain{};
};

}  // namespace holdfast::tunnel

// What a proxy's services are told, and what they tell: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/backoff.h"
#include "base/clock.h"
#include "holdfast/v1/resource.pb.h"
#include "tunnel/link_service.h"

namespace holdfast::tunnel {

// How a proxy proves who it is and whom it believes; all in PEM.
struct ProxyIdentity {
  std::string certificate_pem{};
  std::string private_key_pem{};
  std::string ca_pem{};
};

struct AdmissionLimits {
  size_t handshakes = 64;                           // at once, TLS and hello
  size_t waiting = 256;                             // connections taken that wait for their turn
  Duration longest_wait = std::chrono::seconds(5);  // then HF2103
  double tunnels_per_second = 200;
  double burst = 400;
  size_t tunnels = 20'000;  // in all
  size_t tunnels_per_agent = 8;
  size_t unproven_per_address = 64;  // connections that have not said hello yet
};

struct ProxyDrainOptions {
  Duration announce = std::chrono::seconds(2);  // to deregister; then drained all the same
  Duration advise_within = std::chrono::seconds(10);
  double advices_per_second = 50;
  Duration deadline = std::chrono::minutes(5);  // then whatever runs is cut
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

  Duration announce_ttl = std::chrono::seconds(30);  // of the TTL in discovery
  Duration hello_timeout = std::chrono::seconds(10);
  Duration dial_timeout = std::chrono::seconds(10);  // of StreamDialer::dial(), in all
  Duration open_timeout = std::chrono::seconds(5);   // of one candidate
  size_t dial_candidates = 3;
  // Which a peer may have opened through us at once, in all.
  size_t streams_of_peers = 16'384;
  size_t exposed_services = 1'024;  // of one agent; more are refused, HF2104
  size_t held_agents_of_peer = 20'000;
  size_t known_proxies = 1'024;
  // A peer is dialled again after this long; and forgotten if it stays away.
  BackoffOptions peer_backoff{.first = std::chrono::milliseconds(250),
                              .cap = std::chrono::seconds(8)};
  Duration peer_grace = std::chrono::seconds(2);

  AdmissionLimits admission{};
  ProxyDrainOptions drain{};
  LinkOptions link{};
};

// A proxy as the cache has it, this one or another. One whose last_heartbeat has changed was heard
// from.
struct ListedProxy {
  std::string name{};
  v1::Proxy proxy{};
};

struct TunnelRow {
  std::string agent{};
  std::string zone{};
  std::string address{};
  std::string version{};
  WallTime since{};
  std::optional<Duration> round_trip{};
  size_t streams = 0;
  std::string state{};  // "connected", "advised", "draining"
  std::vector<std::string> services{};
};

struct PeerRow {
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

enum class DrainPhase : uint8_t { Serving, Announcing, Advising, Closing, Finishing, Drained };
std::string_view to_string(DrainPhase phase);  // "serving"

struct DrainProgress {
  DrainPhase phase = DrainPhase::Serving;
  WallTime since{};     // drain() was called
  WallTime deadline{};  // when the rest is cut
  size_t tunnels = 0;   // still there
  size_t advised = 0;
  size_t streams = 0;  // still running
  size_t cut = 0;      // streams that ran at the deadline
};

struct ProxyStatus {
  std::vector<TunnelRow> tunnels{};
  std::vector<PeerRow> peers{};
  DrainProgress drain{};
};

}  // namespace holdfast::tunnel

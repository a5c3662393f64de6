// What an agent's pool of tunnels is told, what it answers, and how it describes itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "tunnel/agent_pool_book.h"
#include "tunnel/tracker.h"

namespace holdfast::tunnel {

// One attempt, and the tunnel that it becomes.
using TunnelId = uint64_t;

// Bounds of keepalives that a peer or an older controller asks for.
inline constexpr Duration kLeastKeepalive = std::chrono::milliseconds(100);
inline constexpr Duration kLongestKeepalive = std::chrono::hours(1);
inline constexpr uint32_t kMostMisses = 100;

// From the networking config, live.
struct PoolSettings {
  uint32_t connection_count = 2;  // 0: a tunnel to every desired proxy
  // Zero: no tunnel is ever closed for being one too many.
  Duration disconnect_threshold = Duration::zero();
  Duration keepalive = std::chrono::seconds(2);
  uint32_t keepalive_misses = 3;

  bool operator==(const PoolSettings&) const = default;
};

struct PoolOptions {
  std::string zone;  // the agent's own
  // A crowd that lost the same proxy, or heard of the same change, acts spread over this long.
  Duration spread = std::chrono::seconds(2);
  Duration settling = std::chrono::seconds(10);  // after the start, when changes are no crowd's
  // Between tries after a failure: a step longer with each round in which everyone failed, up to
  // the cap, each drawn from its upper half.
  Duration backoff_step = std::chrono::seconds(1);
  Duration backoff_cap = std::chrono::seconds(8);
  Duration first_dial_timeout = std::chrono::seconds(5);  // of a proxy that has not failed lately
  Duration dial_timeout = std::chrono::seconds(10);
  Duration outcome_grace = std::chrono::seconds(5);  // after it a dial without outcome is given up
  // Without any tunnel, a dial this slow gives way to another proxy.
  Duration hedge_after = std::chrono::seconds(3);
  size_t max_dials = 4;                                // under way at once
  size_t max_tunnels = 1'024;                          // those that drain included
  Duration max_retry_after = std::chrono::minutes(5);  // a refusal's is cut to it
  Duration retry_claimed = std::chrono::seconds(30);   // an address that led to one of ours
  Duration advice_patience = std::chrono::minutes(2);  // of advice that names no time
  Duration max_closes_in = std::chrono::hours(1);      // advice's is cut to it
  // How long a tunnel to a proxy that is not desired any more is kept, drawn between these; the
  // second zero: for ever. Only where tunnels are closed at all (disconnect_threshold).
  Duration min_keep_undesired = std::chrono::minutes(30);
  Duration max_keep_undesired = std::chrono::minutes(60);
  TrackerOptions tracker;
  BookOptions book;
};

// A proxy of the cache. It counts as mentioned when `heartbeat` differs from the last listing's: a
// stale copy must not keep the dead alive.
struct ListedProxy {
  ProxyInfo info;
  int64_t heartbeat = 0;  // any number that changes with each
  bool offline = false;   // the controllers say so
};

struct Refusal {
  std::string code;  // "HF2103"
  std::string reason;
  std::optional<Duration> retry_after;
};

struct MoveAdvice {
  std::string code;
  std::string reason;
  std::optional<Duration> closes_in;
};

// Dial it; answer with exactly one of on_connected(), on_refused(), on_failed(),
// on_already_claimed(). Between, when the peer's name is known, ask may_claim().
struct Dial {
  TunnelId tunnel;
  std::string address;
  std::string proxy;  // expected there; empty: unknown
  Duration timeout;   // for TCP, TLS, hello and welcome together
};
// Say goodbye, let the streams finish, close; then on_drained().
struct Drain {
  TunnelId tunnel;
  std::string code;
  std::string why;
};
// Close at once; nothing more is to be told of it.
struct Close {
  TunnelId tunnel;
  std::string code;
  std::string why;
};
// For every tunnel, and those to come.
struct SetKeepalive {
  Duration interval;
  uint32_t misses;
};
using Action = std::variant<Dial, Drain, Close, SetKeepalive>;
using Actions = std::vector<Action>;

//   Dialing ──► Connected ◄──► Leaving ──► Draining ──► (gone)
enum class TunnelPhase : uint8_t {
  Dialing,
  Connected,
  Leaving,   // in use until another tunnel has taken its place
  Draining,  // nothing new; what runs finishes
};
std::string_view to_string(TunnelPhase phase);

struct TunnelView {
  TunnelId id = 0;
  std::string proxy;  // of a dial: expected, may be empty
  std::string zone;
  std::string address;
  TunnelPhase phase = TunnelPhase::Dialing;
  Time since;  // of the phase
  Time connected;
  std::optional<Duration> round_trip;
  bool claimed = false;
  bool leased = false;   // of a dial: it has not given way to another
  bool desired = false;  // its proxy is one that the agent wants
};

struct PoolStats {
  uint64_t dials = 0;
  uint64_t connected = 0;
  uint64_t refused = 0;
  uint64_t failed = 0;
  uint64_t already_claimed = 0;
  uint64_t lost = 0;
  uint64_t advised = 0;
  uint64_t advice_withdrawn = 0;  // nothing better was found
  uint64_t renewed = 0;
  uint64_t drained_advised = 0;  // drains begun, by reason
  uint64_t drained_surplus = 0;
  uint64_t drained_expired = 0;
  uint64_t overdue_dials = 0;  // nobody told how they ended
  uint64_t gave_way = 0;       // slow dials, while there was no tunnel
  uint64_t wrong_name = 0;     // another proxy than expected answered
};

// Why an agent has fewer tunnels than configured, and why tunnels are closed.
inline constexpr std::string_view kNoProxyKnown = "HF2130";
inline constexpr std::string_view kAllRefused = "HF2131";
inline constexpr std::string_view kNoneAnswers = "HF2132";
inline constexpr std::string_view kTooFewProxies = "HF2133";
inline constexpr std::string_view kConnecting = "HF2134";
inline constexpr std::string_view kAlreadyClaimed = "HF2135";
inline constexpr std::string_view kSurplus = "HF2136";
inline constexpr std::string_view kUndesired = "HF2137";
inline constexpr std::string_view kAgentStops = "HF2138";
inline constexpr std::string_view kNoOutcome = "HF2139";
inline constexpr std::string_view kRenewed = "HF2145";

struct PoolView {
  std::vector<TunnelView> tunnels;  // by id
  uint32_t connection_count = 0;    // configured
  size_t desired_count = 0;         // with the proxies there are
  size_t usable = 0;                // tunnels that take streams
  size_t usable_desired = 0;        // of these, the ones that count
  size_t inflight = 0;
  size_t claimed = 0;
  size_t tracked = 0;
  size_t remembered = 0;
  // Why there are fewer tunnels than configured; empty when there are enough.
  std::string shortfall_code;
  std::string shortfall;
  // It has a tunnel to every proxy that takes tunnels: nothing is wrong, whatever is configured.
  bool has_all_there_are = false;
  std::optional<Time> next_dial;
  Time last_topology_change;
  PoolStats stats;
  TrackerStats tracker;
};

}  // namespace holdfast::tunnel

// The words between the PickHealthy core and its service: what the core asks for, what it is told,
// and its constants. Plain values; a connection is named by a number that is never used again.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/backoff.h"
#include "base/clock.h"

namespace holdfast::rpc {

struct PickHealthyOptions {
  // Between the moment a connection turns unhealthy and the next try: this and up to half of it
  // more, doubling while what is found is unhealthy too.
  Duration base_backoff = std::chrono::seconds(2);
  Duration max_backoff = std::chrono::seconds(16);
  // To connect, be told the service config and hear the first health answer; up to a tenth more.
  Duration connect_timeout = std::chrono::seconds(30);
  // Whether the server is asked how to balance, for its health, and whether it is alive. Callers
  // without a certificate are refused all that; for them a connected server is a good one.
  bool ask_server = true;
  BackoffOptions redial{std::chrono::milliseconds(100), std::chrono::seconds(2)};
  // A connection that lived for less counts as a failed dial, so nobody dials in a tight loop.
  Duration settled_after = std::chrono::seconds(1);
  BackoffOptions watch_retry{std::chrono::seconds(1), std::chrono::seconds(16)};
  Duration probe_timeout = std::chrono::seconds(1);
  // Of a server that is half of a pair: the other half may take over at any moment.
  Duration paired_probe_timeout = std::chrono::milliseconds(300);
  Duration doubted_for = std::chrono::seconds(5);  // after an answer of "unavailable"
  Duration doubts_forgotten_after = std::chrono::minutes(1);
  // While calls suffer on the active, tries follow each other sooner than the backoff says: the
  // first after this and up to half of it more, each next one after half as long again, up to the
  // longest backoff. One that is not through after `pressed_patience` makes way for the next.
  Duration pressed_wait = std::chrono::milliseconds(100);
  Duration pressed_patience = std::chrono::seconds(1);
  // A passive half answers the first question when it knows whether it takes over.
  Duration paired_patience = std::chrono::milliseconds(2500);
  // A passive half names the active one. Whether an address that is not in the list is dialled
  // too: for clients that know a controller by its certificate, whatever its address.
  bool follow_strangers = false;
  // How many beats of a server that promised them may be missed.
  int missed_beats = 3;
  // How often a good connection is replaced, to even out load; up to a tenth more. Zero: never.
  Duration reconnect_interval{0};
};

namespace pick {

// Open this connection; it is used once. Answered by connected or closed.
struct Dial {
  uint64_t connection = 0;
  std::string address{};
  uint64_t credentials = 0;  // which ones: counted from zero
  bool operator==(const Dial&) const = default;
};
// Ask for the service config. No deadline: a server stuck here is what the connect timeout is for.
struct Discover {
  uint64_t connection = 0;
  bool operator==(const Discover&) const = default;
};
// Watch this service's health; the watch before it has ended.
struct WatchHealth {
  uint64_t connection = 0;
  std::string service{};
  bool operator==(const WatchHealth&) const = default;
};
// One health check without a deadline, whose answer shows that the server is alive.
struct Probe {
  uint64_t connection = 0;
  std::string service{};
  bool operator==(const Probe&) const = default;
};
// The core is done with it. Calls and streams that run on it go on.
struct Drop {
  uint64_t connection = 0;
  bool operator==(const Drop&) const = default;
};
// New calls go here from now on; zero: nowhere.
struct Pick {
  uint64_t connection = 0;
  bool operator==(const Pick&) const = default;
};

using Action = std::variant<Dial, Discover, WatchHealth, Probe, Drop, Pick>;
using Actions = std::vector<Action>;

// What a service config said; lasts until another one is read.
struct Mode {
  bool reconnect = false;                       // else stay, as pick_first does
  std::optional<std::string> health_service{};  // absent: health is not watched
  bool operator==(const Mode&) const = default;
};

// How GetServiceConfig ended.
struct Discovery {
  // NotActive: by the half of a pair that does not serve.
  enum class Outcome : uint8_t { Answered, Unimplemented, Failed, NotActive };
  Outcome outcome = Outcome::Answered;
  Mode mode{};  // if answered
};

// How a health watch ended; a server without it is taken for healthy.
enum class WatchEnd : uint8_t { Unimplemented, Other };

struct Counts {
  uint64_t dialled = 0;
  uint64_t failed_dials = 0;
  uint64_t swaps = 0;            // the backup took over
  uint64_t dropped_backups = 0;  // the old connection recovered first
  uint64_t doubts = 0;
  uint64_t not_active = 0;    // answers of halves that do not serve, or no longer
  uint64_t followed = 0;      // tries that these made immediate
  uint64_t missed_beats = 0;  // servers that fell silent with nobody asking them
  Duration last_recovery{0};  // from the pick turning unusable to a usable one
};

}  // namespace pick
}  // namespace holdfast::rpc

// One of the at most two connections that PickHealthy keeps, with all that is known of it. It dials
// the addresses of its list one by one until one connects, asks for the service config, then
// follows the server's health.
//
//   dialling ──► discovering ──► (first health answer) ──► Ready ◄──► Unhealthy
//      ▲ └ next address, or a short wait                       │ lost
//      └───────────────────────────────────────────────────────┘
//
// Connecting is everything left of Ready. A doubted child is Unhealthy whatever its server says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/rng.h"
#include "rpc/pick_action.h"

namespace holdfast::rpc::pick {

enum class ChildState : uint8_t { Connecting, Ready, Unhealthy };

// What the children of one PickHealthy have in common.
struct Shared {
  PickHealthyOptions options;
  Rng rng;
  uint64_t last_connection = 0;
  Counts counts{};
};

struct ChildSetup {
  std::vector<std::string> addresses{};
  std::string avoided{};    // dialled last in the first round
  std::string preferred{};  // dialled first in it, also if it is not in the list
  uint64_t credentials = 0;
  std::optional<Mode> mode{};     // of the child before it
  bool must_be_accepted = false;  // a discovery that fails makes it Unhealthy, not Ready
};

class Child {
 public:
  Child(Shared& shared, ChildSetup setup);

  void dial(Time now, Actions& out);
  void connected(Time now, Actions& out);
  // The dial failed, or the connection was lost.
  void closed(Time now, Actions& out);
  void discovered(const Discovery& discovery, Actions& out);
  void health(bool serving, Time now);
  // Its server will say at least this often how it is.
  void expect_beats(Duration interval, Time now);
  void watch_ended(WatchEnd end, Time now);

  // A call has waited for long: the server is probed, or if there is none, another is wanted.
  void unanswered(Time now, Actions& out);
  void answered_unavailable(Time now);
  // It does not take our credentials, which others may.
  void answered_refused(Time now);
  // It is half of a pair.
  void paired() { paired_ = true; }
  // It is half of a pair and does not serve; `fenced`: it thinks it does.
  void answered_not_active(bool fenced, Time now);
  void probe_ended(bool answered, Time now);
  // Something was heard from the server.
  void alive();
  // A call: whoever serves calls has not been dialled in vain, however young the connection is.
  void answered();

  void tick(Time now, Actions& out);
  std::optional<Time> next_deadline() const;

  void set_addresses(std::vector<std::string> addresses) {
    setup_.addresses = std::move(addresses);
  }
  void accept_as_it_is() { setup_.must_be_accepted = false; }

  ChildState state() const;
  uint64_t connection() const { return connection_; }
  const std::string& address() const { return address_; }  // dialled last
  uint64_t credentials() const { return setup_.credentials; }
  bool is_connected() const { return connected_at_.has_value(); }
  bool has_answered() const { return answered_; }
  bool is_undiscovered() const { return !discovered_; }
  bool is_accepted() const { return discovered_ && !refused_; }
  // It answered the discovery with an error, and not because it is too old for it.
  bool has_failed_discovery() const { return discovery_failed_; }
  bool refuses() const { return refuses_; }
  // A probe found nobody.
  bool is_silent() const { return silent_; }
  bool is_doubted() const { return silent_ || impatient_ || doubted_until_.has_value(); }
  // Connected for long, and still not through discovery and the first health answer.
  bool is_stuck(Time now) const;
  const std::optional<Mode>& mode() const { return setup_.mode; }
  bool wants_reconnect() const { return setup_.mode && setup_.mode->reconnect; }
  bool is_paired() const { return paired_; }
  // Half of a pair, and not the one to be asked.
  bool stands_aside() const { return paired_ && (aside_ || fenced_ || health_ == Health::Failing); }
  // Whether doubt took effect since this was last asked.
  bool take_fresh_doubt() { return std::exchange(fresh_doubt_, false); }

 private:
  enum class Health : uint8_t { Connecting, Ready, Failing };

  void begin_round(Time now, Actions& out);
  void forget_connection();
  void doubt();
  void miss_beats(Time now);
  std::string health_service() const;
  Duration probe_timeout() const {
    return paired_ ? shared_.options.paired_probe_timeout : shared_.options.probe_timeout;
  }

  Shared& shared_;
  ChildSetup setup_;
  std::vector<std::string> round_;  // still to be dialled, last first
  Backoff redial_;
  Backoff watch_retry_;

  uint64_t connection_ = 0;
  std::string address_;
  std::optional<Time> connected_at_;
  Health health_ = Health::Connecting;
  bool discovered_ = false;
  bool discovery_failed_ = false;
  bool refused_ = false;   // in the discovery, which it had to answer
  bool refuses_ = false;   // calls; ends with the doubt
  bool answered_ = false;  // a call
  bool probing_ = false;
  bool silent_ = false;
  bool impatient_ = false;  // somebody waits for it to connect
  bool fresh_doubt_ = false;
  bool paired_ = false;
  bool aside_ = false;   // ends with the doubt, or when it serves
  bool fenced_ = false;  // ends with the doubt
  Duration beat_{0};     // what it promised
  std::optional<Time> doubted_until_;
  std::optional<Time> redial_at_;
  std::optional<Time> watch_at_;
  std::optional<Time> probe_at_;   // the next probe
  std::optional<Time> silent_at_;  // unless it answers before
  std::optional<Time> missed_at_;  // unless it beats before
};

}  // namespace holdfast::rpc::pick

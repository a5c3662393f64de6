// Who may begin a tunnel, and when: a proxy that comes back meets every agent at once.
//
//   arrive() ─► quiet ─ spoke() ─► waiting ─► next(): a slot and a token ─► handshake ─► finish()
//      │          │                   │ when full: may_accept() is false, the rest stays in the
//      │          │                   │ kernel's backlog
//      │          │                   └ waited max_wait: a slot, no token: refused after the
//      │          │                     handshake, with a time
//      │          └ too many: the one that was quiet for longest makes room
//      └─ too many from this address that have not shown a certificate, or that failed: dropped
//
// A handshake that fails gives its token back, so that strangers cannot use up what agents need;
// failures have a limit of their own. Who says nothing has no slot. Slots go to the address that
// has fewest: one has at most half of them while others are there, and the last quarter is for
// addresses that have none.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/clock.h"
#include "base/rng.h"

namespace holdfast::tunnel {

struct AdmissionOptions {
  uint32_t max_handshakes = 64;
  uint32_t tunnels_per_second = 200;
  uint32_t burst = 400;
  uint32_t max_waiting = 1'024;
  Duration max_wait = std::chrono::seconds(5);
  uint32_t max_quiet = 1'024;                     // that have not sent a byte
  Duration first_byte = std::chrono::seconds(2);  // to send it in
  uint32_t max_unauthenticated_per_address = 64;
  // Handshakes that fail or are refused. Of an address: beyond it the address is dropped. In all:
  // beyond it every address is that has failed lately; the others come in as before.
  uint32_t failures_per_second = 100;
  uint32_t failure_burst = 1'000;
  uint32_t failures_per_second_per_address = 20;
  uint32_t failure_burst_per_address = 200;
  size_t max_failing_addresses = 4'096;  // that are remembered
  Duration min_retry = std::chrono::seconds(1);
  Duration max_retry = std::chrono::seconds(30);
};

struct AdmissionStats {
  uint64_t admitted = 0;
  uint64_t refused = 0;  // asked to come back later
  uint64_t dropped = 0;  // too many from one address
  uint64_t failed = 0;   // handshakes that came to nothing
  uint64_t quiet = 0;    // said nothing in time, or made room
  uint64_t failing = 0;  // dropped: too many failures
  uint32_t max_waiting_seen = 0;
};

class Admission {
 public:
  using Ticket = uint64_t;
  enum class Outcome : uint8_t { Admitted, Refused, Failed, Quiet };
  // A handshake to begin.
  struct Start {
    Ticket ticket = 0;
    // Set: to be refused with HF2103 once the hello is read, and this as its retry_after.
    std::optional<Duration> refuse{};
  };

  Admission(AdmissionOptions options, uint64_t seed, Time now);

  // Whether to accept another connection at all.
  bool may_accept() const { return waiting_.size() < options_.max_waiting; }
  // A connection was accepted; absent: close it. It starts when next() says so, after spoke().
  std::optional<Ticket> arrive(std::string_view address, Time now);
  // Its first byte is there. Without that, finish() it as Quiet after first_byte.
  void spoke(Ticket ticket);
  // Call after arrive(): who is to be closed to make room. It is finished already.
  std::optional<Ticket> make_room(Time now);
  // Call until absent, after spoke() and finish() and at next_deadline().
  std::optional<Start> next(Time now);
  // Its certificate and hello are good: it no longer counts for its address.
  void authenticated(Ticket ticket);
  // The handshake is over, whatever its outcome; also for one that left while it waited.
  void finish(Ticket ticket, Outcome outcome, Time now);
  // When next() may have something that it has not now; absent: not before something happens.
  std::optional<Time> next_deadline(Time now) const;

  // For who is refused for another reason, such as a drain or a limit: when to come back.
  Duration retry_after(Time now);

  size_t waiting() const { return waiting_.size(); }
  size_t quiet() const { return quiet_.size(); }
  size_t handshakes() const { return handshakes_; }
  const AdmissionStats& stats() const { return stats_; }

 private:
  struct Entry {
    std::string address;
    Time since;            // it waits
    bool running = false;  // or it has a slot
    bool has_token = false;
    bool unauthenticated = true;
  };
  struct Address {
    uint32_t unauthenticated = 0;
    uint32_t handshakes = 0;
  };
  // Failures that count, fewer with time.
  struct Failures {
    double level = 0;
    Time at{};
    double now(Time when, double per_second) const;
    void add(Time when, double per_second);
  };

  void refill(Time now);
  bool has_slot(const Address& address) const;
  // Who goes next, if anybody may.
  std::optional<Ticket> pick(Time now) const;
  bool is_failing(const std::string& address, Time now) const;
  void note_failure(const std::string& address, Time now);
  void forget_stranger(Entry& entry);

  AdmissionOptions options_;
  Rng rng_;
  double tokens_;
  Time refilled_;
  std::unordered_map<Ticket, Entry> entries_;
  std::set<Ticket> quiet_;    // in order of arrival,
  std::set<Ticket> waiting_;  // and so are these
  std::unordered_map<std::string, Address> addresses_;
  std::unordered_map<std::string, Failures> failing_;
  Failures failures_;  // of all
  uint32_t handshakes_ = 0;
  Ticket last_ticket_ = 0;
  AdmissionStats stats_;
};

}  // namespace holdfast::tunnel

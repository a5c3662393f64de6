// Drives a PickHealthy in virtual time: keeps what it asked for, by kind, and plays the service.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "rpc/pick_healthy.h"

namespace holdfast::rpc::pick {

using namespace std::chrono_literals;

inline const Mode kPickFirst{.reconnect = false, .health_service = ""};
inline const Mode kReconnect{.reconnect = true, .health_service = ""};

class Harness {
 public:
  explicit Harness(PickHealthyOptions options = {}, std::vector<std::string> addresses = {"lb:1"},
                   uint64_t seed = 1)
      : core(options, std::move(addresses), seed) {
    take(core.start(now));
  }

  void take(Actions actions) {
    for (Action& action : actions) {
      if (const auto* dial = std::get_if<Dial>(&action)) dials.push_back(*dial);
      all.push_back(std::move(action));
    }
  }

  // Lets time pass, with every tick the core asked for.
  void advance(Duration by) {
    const Time target = now + by;
    while (core.next_deadline() && *core.next_deadline() <= target) {
      now = std::max(now, *core.next_deadline());
      take(core.on_tick(now));
    }
    now = target;
  }
  // How long until the next dial, asked for within this time.
  Duration until_next_dial(Duration patience = 10min) {
    const Time from = now;
    const size_t before = dials.size();
    while (dials.size() == before && core.next_deadline() &&
           *core.next_deadline() <= from + patience) {
      now = std::max(now, *core.next_deadline());
      take(core.on_tick(now));
    }
    return dials.size() > before ? now - from : Duration::max();
  }

  // The connection dialled last, and the one before.
  uint64_t last() const { return dials.back().connection; }

  void connect(uint64_t id) { take(core.on_connected(id, now)); }
  void close(uint64_t id) { take(core.on_closed(id, now)); }
  void tell(uint64_t id, const Mode& mode) { take(core.on_discovered(id, {.mode = mode}, now)); }
  void fail_discovery(uint64_t id, Discovery::Outcome outcome) {
    take(core.on_discovered(id, {.outcome = outcome}, now));
  }
  void serve(uint64_t id, bool serving) { take(core.on_health(id, serving, now)); }
  void end_watch(uint64_t id, WatchEnd end) { take(core.on_watch_ended(id, end, now)); }
  void unanswered(uint64_t id) { take(core.on_unanswered(id, now)); }
  void unavailable(uint64_t id) { take(core.on_unavailable(id, now)); }

  // The connection dialled last comes up in this mode, serving or not.
  uint64_t bring_up(const Mode& mode, bool serving = true) {
    const uint64_t id = last();
    connect(id);
    tell(id, mode);
    if (mode.health_service) serve(id, serving);
    return id;
  }

  template <typename Kind>
  std::vector<Kind> asked() const {
    std::vector<Kind> found;
    for (const Action& action : all) {
      if (const auto* one = std::get_if<Kind>(&action)) found.push_back(*one);
    }
    return found;
  }
  template <typename Kind>
  size_t count() const {
    return asked<Kind>().size();
  }
  bool has_dropped(uint64_t id) const {
    for (const Drop& drop : asked<Drop>()) {
      if (drop.connection == id) return true;
    }
    return false;
  }

  PickHealthy core;
  Time now{1h};
  Actions all;
  std::vector<Dial> dials;
};

}  // namespace holdfast::rpc::pick

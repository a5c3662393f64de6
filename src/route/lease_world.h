// A world of holders and a dealer in virtual time and from a seed, for simulations: connections
// come by chance and last by chance, reports travel with delay and are lost, repeated or late,
// holders and dealers crash. Places and Dealer are the real ones.
//
//   arrivals ─► Places::take ─► connection ─► give_back       truth: who runs where, kept here
//   Places::report ──delay, loss──► Dealer ──delay, loss──► Places::on_grant
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <tuple>
#include <vector>

#include "base/rng.h"
#include "route/dealer.h"
#include "route/places.h"

namespace holdfast::route::sim {

// Who decides where a connection goes.
enum class Law : uint8_t {
  Leases,       // what is built here
  Ideal,        // one counter that all know at once
  PreferClose,  // the own zone, always
};

struct WorldOptions {
  uint64_t seed = 1;
  Law law = Law::Leases;
  std::vector<size_t> holders_in{20, 0, 0};  // zones "a", "b", "c"
  uint64_t capacity = 200;                   // of each zone
  WhenFull when_full = WhenFull::Overflow;
  Duration lifetime = std::chrono::seconds(2);  // of a connection, on average
  Duration shortest_delay = std::chrono::milliseconds(1);
  Duration longest_delay = std::chrono::milliseconds(10);
  Duration report_timeout = std::chrono::seconds(1);
  unsigned lost_percent = 0;      // of reports, and of answers
  unsigned repeated_percent = 0;  // of reports: a second time, later
  bool has_dealer = true;
  DealerOptions dealer{};
};

// What became of the connections of one zone's holders since the last reset.
struct Tally {
  uint64_t all = 0;
  uint64_t local = 0;
  uint64_t spilled = 0;
  uint64_t early = 0;    // spilled while a tenth of the own zone was free
  uint64_t beyond = 0;   // went where as many ran as there is room for
  uint64_t refused = 0;  // no place anywhere
};

class World {
 public:
  explicit World(WorldOptions options);

  // Offered by a zone's holders together, as a part of the zone's capacity.
  void offer(size_t zone, double load);
  void run_for(Duration duration);
  // Called every `every` of virtual time, while run_for() runs.
  void watch(Duration every, std::function<void()> look);
  void watch_no_more() { ++watches_; }

  size_t join(size_t zone);
  void crash(size_t holder);             // and its connections with it
  void restart(size_t holder);           // a crashed one
  void cut(size_t holder, bool is_cut);  // from the dealer; connections go on
  void stop_dealer();
  void start_dealer();
  void tick_dealer() { dealer_->on_tick(now_); }
  void set_capacity(uint64_t capacity);
  void heal_network();

  Time now() const { return now_; }
  const WorldOptions& options() const { return options_; }
  size_t holder_count() const { return holders_.size(); }
  bool is_alive(size_t holder) const { return holders_[holder].places != nullptr; }
  const Places& places(size_t holder) const { return *holders_[holder].places; }
  const std::optional<Dealer>& dealer() const { return dealer_; }
  uint64_t active(size_t zone) const { return active_[zone]; }
  // Of leases in force, by what holders believe.
  uint64_t leased(size_t zone) const;
  uint64_t reports() const { return reports_; }
  Tally& tally(size_t zone) { return tallies_[zone]; }

 private:
  struct Holder {
    std::string name{};
    size_t zone = 0;
    std::unique_ptr<Places> places{};
    uint64_t life = 0;
    uint64_t boot = 0;
    uint64_t turn = 0;     // of arrivals: only the latest comes
    uint64_t awaited = 0;  // the report whose answer it waits for
    Rng arrivals{0};
    bool is_cut = false;
    Time wakes_at = Time::max();
    std::vector<uint64_t> active{};  // by zone
    std::vector<std::string> order{};
  };
  struct Event {
    Time at;
    uint64_t number;
    std::function<void()> what;
    bool operator<(const Event& other) const {
      return std::tie(other.at, other.number) < std::tie(at, number);
    }
  };

  void at(Time time, std::function<void()> what);
  void boot(size_t holder);
  void next_arrival(size_t holder);
  void arrive(size_t holder, Duration lifetime);
  std::optional<size_t> place(Holder& holder);
  void count(const Holder& holder, size_t zone);
  void arm(size_t holder);
  void send_report(size_t holder);
  void deliver(size_t holder, const LoadReport& report);
  void answer(size_t holder, const LoadReport& report, const LoadGrant& grant);
  Duration delay();
  bool is_lost(const Holder& holder);
  std::map<std::string, Capacity, std::less<>> services() const;
  void tell_services();
  Duration exponential(Rng& rng, double mean_seconds);

  WorldOptions options_;
  Rng chance_;
  Time now_;
  uint64_t events_ = 0;
  std::priority_queue<Event> queue_;
  std::vector<Holder> holders_;
  std::vector<double> offered_;
  std::vector<uint64_t> active_;
  std::vector<Tally> tallies_;
  std::optional<Dealer> dealer_;
  uint64_t reports_ = 0;
  uint64_t watches_ = 0;  // so often all of them ended
};

// "a", "b", ...
std::string zone_name(size_t zone);

}  // namespace holdfast::route::sim

// A holder's places: which zone a new connection goes to, and whether it may. The own zone until
// its places are taken, then the next; what the controller leased holds until it runs out, then the
// fixed share. Without a limit a zone always has a place, and is counted all the same.
//
//   take() ─► Within │ Beyond (overflow) │ Wait (queue) │ Reject
//   give_back() ◄─ the connection's end            report() ─► controller ─► on_grant()
//
//   limit of a pool:   lease ──ttl──► the smaller of lease and fixed share ──ttl──► fixed share
//
// The step in the middle gives the dealer time to take back from others what this holder will use,
// if it is only this holder that cannot hear the dealer.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "route/load.h"
#include "route/zone_order.h"

namespace holdfast::route {

struct PlacesOptions {
  std::string holder{};
  std::string zone{};
  uint64_t boot = 1;
  Duration report_every = std::chrono::seconds(1);
  // Between two reports, on average, when places run short; longer where holders are many.
  Duration report_at_soonest = std::chrono::milliseconds(100);
  // Pools that are remembered; services beyond are not limited nor counted, and a counter says so.
  size_t max_pools = 4096;
};

// How a connection ended, for the counts.
enum class Ended : uint8_t { Closed, Refused, TimedOut, Reset, GaveUp, Cut };

struct Taken {
  enum class Kind : uint8_t { Within, Beyond, Wait, Reject };
  Kind kind = Kind::Within;
  std::string zone{};  // if it is Within or Beyond: a place there is taken
  bool operator==(const Taken&) const = default;
};

// What becomes of who finds every place taken: what the service says, or, if there is more to be
// had of the dealer, Wait for its next grant first.
enum class IfTaken : uint8_t { Decide, AwaitGrant };

class Places {
 public:
  explicit Places(PlacesOptions options);

  // What services there are and their limits; `holders` as many as may share them, this one
  // included (for the fixed share of who was never told one). As often as the cache changes.
  void set_services(const std::map<std::string, Capacity, std::less<>>& services, size_t holders);

  // A place in the first of `zones` that has one: zones that can carry the service now, in order of
  // preference. Requires: at least one.
  Taken take(std::string_view service, const std::vector<std::string>& zones, Time now,
             IfTaken if_taken = IfTaken::Decide);
  // Whether who finds it full waits for as long as it likes.
  bool queues(std::string_view service) const;
  // How many connections wait for the next grant, or for a place. The next report asks the dealer
  // for a place for each, in the zones that take() was last asked for before one of them waited.
  void set_waiting(std::string_view service, uint64_t connections);
  // Somebody is asked for the connection that has the place: it is counted as opened, and as closed
  // at its end, whatever that is, as a kernel counts from the SYN on.
  void opened(std::string_view service, std::string_view zone);
  // The end of what take() gave. Of what was not opened only the place is given back.
  void give_back(std::string_view service, std::string_view zone, Ended how, bool was_opened,
                 Time now);

  // When report() is due; a holder that runs short is due sooner.
  Time report_due() const;
  // What to send now. Until its answer or its failure is told, none is due.
  LoadReport report(Time now);
  void on_grant(const LoadGrant& grant, Time now);
  void on_report_failed(Time now);

  // For people: what would become of a connection now, and why. The order as in take().
  struct ZoneView {
    std::string zone{};
    uint64_t active = 0;
    uint64_t limit = kNoLimit;
    bool leased = false;
    bool would_take = false;
  };
  std::vector<ZoneView> explain(std::string_view service, const std::vector<std::string>& zones,
                                Time now) const;
  // Every pool with its counts, for metrics.
  std::vector<PoolReport> rows(Time now) const;
  uint64_t not_counted() const { return not_counted_; }  // connections beyond max_pools

 private:
  struct Pool {
    uint64_t capacity = kNoLimit;
    // Of the latest grant, if it was in it. `fixed` of the latest that told one.
    std::optional<uint64_t> lease{};
    std::optional<uint64_t> fixed{};
    bool is_scarce = false;
    PoolReport counts{};
  };
  struct Service {
    std::optional<Capacity> capacity{};  // none: it is not among the services
    std::map<std::string, Pool, std::less<>> zones{};
    uint64_t waiting = 0;              // connections
    std::vector<std::string> tried{};  // zones, in their order, before the latest of these waited
    uint64_t capacity_in(std::string_view zone) const;
  };

  Service* service_of(std::string_view name);
  Pool* pool_of(Service& service, std::string_view name, std::string_view zone);
  void know_zones(Service& service, std::string_view name);
  Pool* find(std::string_view service, std::string_view zone);
  void use(Pool& pool, Time now);
  bool may_be_granted(const Service& service, const std::vector<std::string>& zones,
                      Time now) const;
  Taken when_full(Service& service, const std::vector<std::string>& zones, Time now);
  const std::string& zone_beyond(const Service& service, const std::vector<std::string>& zones,
                                 Time now) const;

  bool is_leased(const Pool& pool, Time now) const;
  uint64_t limit_of(const Pool& pool, Time now) const;
  uint64_t fixed_of(const Pool& pool) const;
  bool runs_short(const Pool& pool, Time now) const;
  PoolReport row_of(const Pool& pool, Time now) const;
  ZoneView view_of(const Service* service, const std::string& zone, Time now) const;
  Duration apart() const;
  void give_back_spare();
  static void spread_waiting(Service& service);
  void put_into_force(const LoadGrant& grant);

  PlacesOptions options_;
  std::map<std::string, Service, std::less<>> services_;
  size_t pool_count_ = 0;
  size_t holders_ = 1;
  uint64_t not_counted_ = 0;
  uint64_t uncounted_now_ = 0;

  uint64_t number_ = 0;  // of the latest report
  uint64_t grant_ = 0;   // of the latest grant in force
  Time sent_at_{};
  Time paced_{};             // when all reports so far had been due, had they been apart
  bool is_waiting_ = false;  // for the answer to a report
  bool is_short_ = true;     // something to say soon; at first: that it is there
  Duration report_every_;
  Duration answered_in_{};
  Time asked_at_{};  // the first report since the latest answer
  Duration ttl_{};
  Time leased_until_{};
};

}  // namespace holdfast::route

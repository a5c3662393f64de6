// The places of a proxy's clients: each connection takes one before it is opened and gives it back
// at its end, whatever that is. Who finds every place taken waits a moment if the controllers have
// more to deal; if every zone is full, it goes beyond the limit, is refused, or waits in line, as
// the service says.
//
//   take() ─► route::Places ─► HeldPlace ─► ... ─► given back ─► the first in line is woken
//               ▲  │ report()
//   on_grant() ─┘  └────────► whoever reports to the controllers
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "route/places.h"
#include "tunnel/connection_counts.h"
#include "tunnel/place_line.h"
#include "tunnel/proxy_options.h"

namespace holdfast::tunnel {

namespace asio = boost::asio;

class PlacesService;

// A place that is taken; given back when it is destroyed. The service outlives it.
class HeldPlace {
 public:
  HeldPlace() = default;
  HeldPlace(HeldPlace&& other) noexcept { swap(other); }
  HeldPlace& operator=(HeldPlace&& other) noexcept;
  ~HeldPlace() { give_back(route::Ended::GaveUp); }

  explicit operator bool() const { return owner_ != nullptr; }
  const std::string& zone() const { return zone_; }
  // An agent is about to be asked for it: from here on it is counted. Others may be asked after.
  void opened();
  // How it ended, or failed; of one that was not opened nothing is counted.
  void give_back(route::Ended how);

 private:
  friend class PlacesService;
  void swap(HeldPlace& other) noexcept;

  PlacesService* owner_ = nullptr;
  ConnectionRow* row_ = nullptr;  // null: not counted
  std::string service_{};
  std::string zone_{};
  bool in_places_ = false;  // route::Places has it
  bool was_opened_ = false;
};

struct PlacesServiceOptions {
  route::PlacesOptions places{};
  PlaceLineOptions line{};
  Duration patience = std::chrono::seconds(5);  // of who waits in line
  // Of anybody, if the controllers have more places to deal: a few round trips to them.
  Duration grant_patience = std::chrono::milliseconds(250);
  size_t max_rows = 4'096;  // of ConnectionCounts
};

struct PlacesStats {
  uint64_t beyond = 0;    // connections beyond every limit, as their services allow
  uint64_t rejected = 0;  // every zone was full
  uint64_t waited = 0;    // that had a place after a while
  uint64_t waited_in_vain = 0;
};

class PlacesService {
 public:
  PlacesService(asio::any_io_executor loop, const Clock& clock, PlacesServiceOptions options);

  // As often as the cache changes.
  void set_load(const ProxyLoad& load);
  // A report is due sooner than it was.
  void on_due(std::function<void()> wake) { wake_ = std::move(wake); }

  // Of a service without limits: counted, and never refused.
  HeldPlace take_in(const AskedFor& asked, const std::string& zone);
  // Zones that can carry the service now, in no order; asked again after each wait.
  using Zones = std::function<std::vector<std::string>()>;
  // A place in the first of them that has one, in order of preference. Empty: there is no zone.
  // kResourceExhausted, HF2206: full; HF2207: full for as long as one waits, or until `deadline`;
  // HF2208: too many wait. What `asked` views must outlive the call.
  asio::awaitable<Result<HeldPlace>> take(AskedFor asked, Zones zones, Time deadline);

  // For whoever waits while zones come and go.
  void on_tick();
  // Whoever waits is refused, HF2315.
  void stop();

  // For the controllers, see route::Places.
  Time report_due() const { return places_.report_due(); }
  route::LoadReport report() { return places_.report(clock_.now()); }
  void on_grant(const route::LoadGrant& grant);
  void on_report_failed() { places_.on_report_failed(clock_.now()); }

  const ConnectionCounts& connections() const { return connections_; }
  std::vector<route::PoolReport> pools() const { return places_.rows(clock_.now()); }
  uint64_t pools_left_out() const { return places_.not_counted(); }
  size_t waiting() const { return line_.waiting(); }
  const PlaceLineStats& line_stats() const { return line_.stats(); }
  const PlacesStats& stats() const { return stats_; }

 private:
  friend class HeldPlace;
  class InLine;

  HeldPlace hold(const AskedFor& asked, const std::string& zone, bool in_places);
  // A place, or why not; absent: wait.
  std::optional<Result<HeldPlace>> try_take(const AskedFor& asked, const Zones& zones,
                                            route::IfTaken if_taken);
  void give_back(const HeldPlace& place, route::Ended how);
  void wake(PlaceLine::Ticket ticket);
  void wake_firsts();
  void tell_waiting(std::string_view service);
  void note_due();

  asio::any_io_executor loop_;
  const Clock& clock_;
  const PlacesServiceOptions options_;
  route::Places places_;
  PlaceLine line_;
  std::map<PlaceLine::Ticket, asio::steady_timer*> waiters_;
  ConnectionCounts connections_;
  std::vector<std::string> listed_;   // zones, as the zone map has them
  std::vector<std::string> one_{""};  // of take_in(), so that it need not be made each time
  std::function<void()> wake_ = [] {};
  Time due_seen_ = Time::max();
  bool stopping_ = false;
  PlacesStats stats_;
};

}  // namespace holdfast::tunnel

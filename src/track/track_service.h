// Keeps the kernel's maps what the cluster says, and reads what it counted: each second the counts,
// each minute an audit. The kernel translates and counts whether this runs or not.
//
//   services, zones, grants ─► Plan, Leases ─► Model ─writes─► KernelService ──► maps
//   metrics, reports ◄─ Totals ◄─────────────── readings ──────────┘
//
// Whatever goes wrong is a status for operators, tried again each second.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "metrics/metrics.h"
#include "net/task_group.h"
#include "route/load.h"
#include "track/kernel_service.h"
#include "track/lease_plan.h"
#include "track/model.h"
#include "track/plan.h"
#include "track/report_turns.h"
#include "track/totals.h"
#include "track/track_metrics.h"

namespace holdfast::track {

struct TrackTimes {
  Duration read_every = std::chrono::seconds(1);
  Duration audit_every = std::chrono::minutes(1);
};

struct TrackOptions {
  std::string directory{};  // of the pins
  size_t max_series = 500;
  TrackTimes times{};
  hf_settings settings{};
  ReportTurnsOptions reports{};
};

// On one loop.
class TrackService {
 public:
  // Clock and registry outlive it.
  struct Parts {
    asio::any_io_executor loop;
    const Clock& clock;
    metrics::Registry& registry;
  };
  TrackService(const Parts& parts, TrackOptions options);

  // What is wanted of the kernel; before start() or later. Nothing is written while services or
  // zones were never told: what an earlier life wrote goes on until then.
  void set_services(std::vector<NamedService> services);
  void set_zones(Result<Zones> zones);
  void set_holders(size_t holders) { leases_.set_holders(holders); }
  void set_times(const TrackTimes& times) { options_.times = times; }
  void set_settings(const hf_settings& settings);
  // Called when status() is not what it was.
  void on_change(std::function<void()> changed) { changed_ = std::move(changed); }

  void start();
  // What the kernel has stays as it is, and goes on.
  asio::awaitable<void> stop();

  // This node as a holder of places, as route::Places: what it tells the controllers, and when. A
  // report is due once the kernel keeps to what it says.
  Time report_due() const { return is_prepared_ ? turns_.due() : Time::max(); }
  route::LoadReport report();
  void on_grant(const route::LoadGrant& grant);
  void on_report_failed();
  // Called when a report is due.
  void on_due(std::function<void()> due) { due_ = std::move(due); }

  // HF81nn: why connections are not counted, or not all; OK while they are.
  const Status& status() const { return status_; }
  size_t service_count() const { return model_ ? model_->service_count() : 0; }

 private:
  void wake();
  asio::awaitable<void> run();
  asio::awaitable<Status> round();
  asio::awaitable<Status> open();
  asio::awaitable<Status> write();
  asio::awaitable<Status> read();
  asio::awaitable<Status> prepare_report();
  Duration rest() const;
  asio::awaitable<Status> audit();
  void take(const Reading& reading);
  void note_ejected(const std::map<uint32_t, hf_health>& health);
  void note_drift(const std::vector<Drift>& drifts);
  void replan();
  Usage usage() const;
  TrackMetrics::Names names() const;
  std::string name_of(const Key& key) const;
  Status shortcomings() const;
  void turn(const Status& status);

  const Clock& clock_;
  metrics::Registry& registry_;
  TrackOptions options_;
  std::function<void()> changed_;
  std::function<void()> due_;
  std::optional<std::vector<NamedService>> services_;
  std::optional<Result<Zones>> zones_;
  bool plan_is_old_ = false;
  bool settings_are_old_ = false;
  Plan plan_;
  Leases leases_;
  ReportTurns turns_;
  std::unique_ptr<Model> model_;  // null: the pins are not open
  uint32_t maps_id_ = 0;
  Status attached_;
  Changes left_out_;  // of the last reconciliation; without its writes
  Totals totals_;
  std::vector<CounterSample> counters_;
  std::set<uint32_t> ejected_;
  TrackMetrics metrics_;
  std::optional<Time> audited_;
  Status status_;
  bool is_prepared_ = false;
  bool stopping_ = false;
  bool woken_ = false;  // there is something to write
  asio::steady_timer timer_;
  KernelService kernel_;
  net::TaskGroup tasks_;
};

}  // namespace holdfast::track

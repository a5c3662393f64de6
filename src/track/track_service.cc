#include "track/track_service.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/reason.h"

namespace holdfast::track {
namespace {

// Lines of one audit, and of one second's ejections; the rest is counted in metrics.
constexpr size_t kMostLines = 8;
// Between two rounds, whatever is due.
constexpr Duration kShortestRest = std::chrono::milliseconds(10);

Status warning(std::string_view code, std::string_view what) {
  return coded(absl::StatusCode::kFailedPrecondition, code, what);
}

// Connections that did not go where they wanted first.
uint64_t turned_away(const hf_stats& stats) {
  return stats.spilled + stats.overflowed + stats.rejected;
}

std::string text_of(const Endpoint& at) {
  const std::string address = to_string(at.address);
  return is_ipv4(at.address) ? fmt::format("{}:{}", address, at.port)
                             : fmt::format("[{}]:{}", address, at.port);
}

}  // namespace

TrackService::TrackService(const Parts& parts, TrackOptions options)
    : clock_(parts.clock),
      registry_(parts.registry),
      options_(std::move(options)),
      turns_(options_.reports),
      metrics_(parts.registry, options_.max_series),
      status_(coded(absl::StatusCode::kUnavailable, "HF8108", "the pins were not opened yet")),
      timer_(parts.loop),
      kernel_(options_.directory),
      tasks_(parts.loop) {}

void TrackService::set_services(std::vector<NamedService> services) {
  services_ = std::move(services);
  plan_is_old_ = true;
  wake();
}

void TrackService::set_zones(Result<Zones> zones) {
  zones_ = std::move(zones);
  plan_is_old_ = true;
  wake();
}

void TrackService::set_settings(const hf_settings& settings) {
  options_.settings = settings;
  settings_are_old_ = true;
}

route::LoadReport TrackService::report() {
  const Time now = clock_.now();
  is_prepared_ = false;
  return turns_.begin(leases_.reports(plan_, usage(), now), leases_.grant_in_force(), now);
}

void TrackService::on_grant(const route::LoadGrant& grant) {
  const std::optional<Time> asked = turns_.answered(grant, clock_.now());
  if (asked && leases_.on_grant(grant, *asked)) turns_.hurry();
  wake();
}

void TrackService::on_report_failed() {
  turns_.failed();
  wake();
}

void TrackService::start() {
  tasks_.spawn(run());
}

asio::awaitable<void> TrackService::stop() {
  stopping_ = true;
  timer_.cancel();
  co_await tasks_.join();
}

void TrackService::wake() {
  woken_ = true;
  timer_.cancel();
}

asio::awaitable<void> TrackService::run() {
  while (!stopping_) {
    woken_ = false;
    const Status done = co_await round();
    if (!done.ok()) {
      model_.reset();
      is_prepared_ = false;
    }
    turn(done.ok() ? shortcomings() : done);
    if (woken_ || stopping_) continue;
    timer_.expires_after(rest());
    co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
  }
}

// Until the next reading, or the next report.
Duration TrackService::rest() const {
  const Duration most = options_.times.read_every;
  if (!model_ || is_prepared_ || plan_.ports.empty()) return most;
  const Time due = turns_.due();
  const Time now = clock_.now();
  if (due >= now + most) return most;
  return due <= now ? kShortestRest : std::max(due - now, kShortestRest);
}

asio::awaitable<Status> TrackService::round() {
  if (!model_) CO_TRY_OK(co_await open());
  if (std::exchange(settings_are_old_, false)) {
    CO_TRY_OK(co_await kernel_.change_settings(options_.settings));
  }
  CO_TRY_OK(co_await read());
  CO_TRY_OK(co_await write());
  if (!is_prepared_ && !plan_.ports.empty() && turns_.due() <= clock_.now()) {
    CO_TRY_OK(co_await prepare_report());
  }
  if (!audited_ || clock_.now() - *audited_ >= options_.times.audit_every) {
    CO_TRY_OK(co_await audit());
  }
  co_return absl::OkStatus();
}

asio::awaitable<Status> TrackService::read() {
  std::vector<uint32_t> backends;
  for (const auto& [id, backend] : model_->backends()) backends.push_back(id);
  CO_TRY(const Reading reading, co_await kernel_.read(std::move(backends)));
  take(reading);
  co_return absl::OkStatus();
}

// What is given back is the dealer's once it hears of it, so the kernel keeps to it before; and
// what came in between is read after.
asio::awaitable<Status> TrackService::prepare_report() {
  leases_.give_back_spare(plan_, usage());
  CO_TRY_OK(co_await write());
  CO_TRY_OK(co_await read());
  is_prepared_ = true;
  if (due_) due_();
  co_return absl::OkStatus();
}

asio::awaitable<Status> TrackService::open() {
  settings_are_old_ = false;
  CO_TRY(const KernelService::Opened opened, co_await kernel_.open(options_.settings));
  model_ = std::make_unique<Model>(opened.sizes, opened.present);
  // Other maps begin to count at zero.
  if (std::exchange(maps_id_, opened.maps_id) != opened.maps_id) totals_ = Totals();
  leases_.adopt(opened.present);
  audited_.reset();
  plan_is_old_ = true;
  log::info("counting connections in the kernel",
            {{"pins", options_.directory}, {"services", opened.present.services.size()}});
  co_return absl::OkStatus();
}

void TrackService::take(const Reading& reading) {
  attached_ = reading.attached;
  counters_ = reading.counters;
  totals_.update(counters_);
  metrics_.show(totals_.rows(), names());
  metrics_.show(reading.stats);
  note_ejected(reading.health);
  const Time now = clock_.now();
  leases_.on_turned_away(plan_, usage(), turned_away(reading.stats), now);
  if (leases_.runs_short(plan_, usage(), now)) turns_.hurry();
}

void TrackService::replan() {
  if (!std::exchange(plan_is_old_, false)) return;
  plan_ = zones_->ok() ? make_plan(*services_, **zones_) : Plan{};
}

// Only what is not there yet is written; and nothing is, while nobody knows what should be.
asio::awaitable<Status> TrackService::write() {
  if (!services_ || !zones_ || !zones_->ok()) co_return absl::OkStatus();
  const bool is_new = plan_is_old_;
  replan();
  const bool limits_moved = leases_.limit(plan_, usage(), clock_.now());
  if (!is_new && !limits_moved && !model_->has_leftovers()) co_return absl::OkStatus();
  std::vector<ServiceSpec> wanted;
  for (const PlannedPort& port : plan_.ports) wanted.push_back(port.spec);
  left_out_ = model_->reconcile(wanted, busy_keys(counters_));
  for (const Key& key : left_out_.forgotten) totals_.forget(key);
  co_return co_await kernel_.apply(std::exchange(left_out_.writes, {}));
}

asio::awaitable<Status> TrackService::audit() {
  CO_TRY(const Pins::Audited audited, co_await kernel_.audit());
  audited_ = clock_.now();
  metrics_.show(audited.drifts);
  registry_.counter({"holdfast_track_audits_total", "Comparisons of counts with sockets."})
      .with()
      .add();
  registry_.gauge({"holdfast_track_flows", "Flows that the last audit found alive."})
      .with()
      .set(static_cast<double>(audited.flows));
  note_drift(audited.drifts);
  co_return absl::OkStatus();
}

void TrackService::note_drift(const std::vector<Drift>& drifts) {
  for (const Drift& drift : std::span(drifts).first(std::min(drifts.size(), kMostLines))) {
    log::warn("counts were not what the sockets say; repaired",
              {{"of", name_of(drift.key)},
               {"missed_ends", std::max<int64_t>(0, drift.active)},
               {"missed_beginnings", std::max<int64_t>(0, -drift.active)},
               {"places", drift.reserved}});
  }
}

void TrackService::note_ejected(const std::map<uint32_t, hf_health>& health) {
  const uint32_t most = options_.settings.refusals_to_eject;
  const std::map<uint32_t, KnownBackend> known = model_->backends();
  std::set<uint32_t> now;
  for (const auto& [id, one] : health) {
    if (most > 0 && one.refusals >= most && known.contains(id)) now.insert(id);
  }
  size_t lines = 0;
  for (const uint32_t id : now) {
    if (ejected_.contains(id) || lines++ >= kMostLines) continue;
    log::warn("a backend refuses connections; it is passed over, and tried now and then",
              {{"service", to_string(known.at(id).vip)}, {"backend", text_of(known.at(id).at)}});
  }
  ejected_ = std::move(now);
  registry_.gauge({"holdfast_track_ejected_backends", "Backends that are passed over."})
      .with()
      .set(static_cast<double>(ejected_.size()));
}

Usage TrackService::usage() const {
  Usage usage;
  if (!model_) return usage;
  for (const CounterSample& sample : counters_) {
    const Vip* vip = model_->vip_of(sample.key.service);
    const auto row = totals_.rows().find(sample.key);
    if (vip == nullptr || row == totals_.rows().end()) continue;
    // A place given back twice cannot be, and counts as none.
    const bool sane = static_cast<int32_t>(sample.reserved) >= 0;
    usage[{*vip, sample.key.zone}] = {.places = sane ? sample.reserved : 0, .totals = row->second};
  }
  return usage;
}

TrackMetrics::Names TrackService::names() const {
  TrackMetrics::Names names;
  if (!zones_ || !zones_->ok()) return names;
  const Zones& zones = **zones_;
  names.src_zone = zones.own;
  for (const std::string& zone : zones.listed) names.dst_zones[zones.map.id(zone)] = zone;
  for (const auto& [key, row] : totals_.rows()) {
    if (const Vip* vip = model_->vip_of(key.service)) names.services[key.service] = *vip;
  }
  return names;
}

std::string TrackService::name_of(const Key& key) const {
  const Vip* vip = model_->vip_of(key.service);
  const std::string zone =
      zones_ && zones_->ok() ? std::string((*zones_)->map.name(key.zone)) : std::string();
  return fmt::format("{} in zone {}", vip == nullptr ? "?" : to_string(*vip),
                     zone.empty() ? std::to_string(key.zone) : zone);
}

// What works, but not as somebody may think it does.
Status TrackService::shortcomings() const {
  if (!attached_.ok()) return attached_;
  if (zones_ && !zones_->ok()) return zones_->status();
  if (!services_ || !zones_) return warning("HF8112", "the services and zones are not known yet");
  if ((*zones_)->listed.empty()) {
    return warning("HF8112", "no zone is listed in zone_map/default: nothing is counted");
  }
  if (plan_.problem_count > 0) {
    return warning("HF8113",
                   fmt::format("{}{}", fmt::join(plan_.problems, "; "),
                               plan_.problem_count > plan_.problems.size() ? "; ..." : ""));
  }
  if (left_out_.services_left_out + left_out_.backends_left_out + left_out_.zones_left_out == 0) {
    return absl::OkStatus();
  }
  return warning("HF8113", fmt::format("{} services, {} backends and {} zones do not fit",
                                       left_out_.services_left_out, left_out_.backends_left_out,
                                       left_out_.zones_left_out));
}

void TrackService::turn(const Status& status) {
  registry_.gauge({"holdfast_track_up", "1 while the kernel's counts are read."})
      .with()
      .set(model_ ? 1 : 0);
  if (status == status_) return;
  status_ = status;
  if (status.ok()) {
    log::info("tracking is well", {{"services", service_count()}});
  } else {
    const Reason reason = split_reason(status);
    log::warn(model_ ? "tracking is not as it should be" : "connections are not counted here",
              {{"code", std::string(reason.code)}, {"why", std::string(reason.message)}});
  }
  if (changed_) changed_();
}

}  // namespace holdfast::track

#include "track/track_metrics.h"

#include <array>
#include <cstdlib>
#include <utility>

namespace holdfast::track {
namespace {

const metrics::Description kOpened = {.name = "holdfast_opened_connections_total",
                                      .help = "Connections opened, by service and zone."};
const metrics::Description kClosed = {.name = "holdfast_closed_connections_total",
                                      .help = "Connections closed, by service and zone."};
const metrics::Description kFailed = {
    .name = "holdfast_failed_connections_total",
    .help = "Connections that were not established, or were cut, by cause; closed ones too."};
const metrics::Description kActive = {.name = "holdfast_active_connections",
                                      .help = "Connections open now, by service and zone."};
const metrics::Description kHidden = {
    .name = "holdfast_track_hidden_rows",
    .help = "Rows of services and zones that are not shown because there are too many."};
const metrics::Description kDrift = {
    .name = "holdfast_track_drift_connections_total",
    .help = "Connections that were counted wrongly, found by audits and repaired."};

using Causes = std::array<std::pair<const char*, uint64_t FailureTotals::*>, 5>;
constexpr Causes kCauses = {{{"refused", &FailureTotals::refused},
                             {"timed_out", &FailureTotals::timed_out},
                             {"reset", &FailureTotals::reset},
                             {"gave_up", &FailureTotals::gave_up},
                             {"cut", &FailureTotals::cut}}};

metrics::Labels with_cause(metrics::Labels labels, const char* cause) {
  labels.emplace("cause", cause);
  return labels;
}

metrics::Labels labels_of(const TrackMetrics::Names& names, uint8_t zone, const Vip& vip) {
  const Endpoint endpoint = endpoint_of(vip);
  return {{"src_zone", names.src_zone},
          {"dst_zone", names.dst_zones.at(zone)},
          {"svc_ip", to_string(endpoint.address)},
          {"svc_port", std::to_string(endpoint.port)},
          {"svc_proto", std::string(protocol_name(vip))}};
}

double difference(uint64_t total, uint64_t told) {
  return total > told ? static_cast<double>(total - told) : 0;
}

}  // namespace

void TrackMetrics::show(const std::map<Key, TotalsRow>& rows, const Names& names) {
  std::map<Key, TotalsRow> named;
  for (const auto& [key, row] : rows) {
    if (names.services.contains(key.service) && names.dst_zones.contains(key.zone)) {
      named.emplace(key, row);
    }
  }
  choice_.update(named);
  hide_all_but(named);
  for (const Key& key : choice_.shown()) {
    const metrics::Labels labels = labels_of(names, key.zone, names.services.at(key.service));
    auto found = shown_.find(key);
    // A number that was given to another service is another series.
    if (found != shown_.end() && found->second.labels != labels) {
      remove(found->second);
      shown_.erase(found);
      found = shown_.end();
    }
    if (found == shown_.end()) found = shown_.emplace(key, Shown{.labels = labels}).first;
    show_row(named.at(key), found->second);
  }
  registry_.gauge(kHidden).with().set(static_cast<double>(choice_.hidden()));
  count("holdfast_track_replaced_rows_total", "Rows that had to give their place to a busier one.",
        choice_.replaced_total(), replaced_told_);
}

void TrackMetrics::hide_all_but(const std::map<Key, TotalsRow>& rows) {
  std::erase_if(shown_, [&](const auto& shown) {
    if (rows.contains(shown.first) && choice_.shown().contains(shown.first)) return false;
    remove(shown.second);
    return true;
  });
}

void TrackMetrics::show_row(const TotalsRow& row, Shown& shown) {
  registry_.counter(kOpened).with(shown.labels).add(difference(row.opened, shown.told.opened));
  registry_.counter(kClosed).with(shown.labels).add(difference(row.closed, shown.told.closed));
  registry_.gauge(kActive).with(shown.labels).set(row.active);
  show_failures(row.failures, shown);
  shown.told = row;
}

// A cause has a series once it has occurred.
void TrackMetrics::show_failures(const FailureTotals& now, Shown& shown) {
  for (const auto& [cause, total] : kCauses) {
    if (now.*total == 0) continue;
    registry_.counter(kFailed)
        .with(with_cause(shown.labels, cause))
        .add(difference(now.*total, shown.told.failures.*total));
  }
}

void TrackMetrics::remove(const Shown& shown) {
  registry_.counter(kOpened).remove(shown.labels);
  registry_.counter(kClosed).remove(shown.labels);
  registry_.gauge(kActive).remove(shown.labels);
  for (const auto& [cause, total] : kCauses) {
    registry_.counter(kFailed).remove(with_cause(shown.labels, cause));
  }
}

void TrackMetrics::count(const std::string& name, const std::string& help, uint64_t total,
                         uint64_t& told) {
  registry_.counter({.name = name, .help = help}).with().add(difference(total, told));
  told = total;
}

void TrackMetrics::show(const hf_stats& stats) {
  const auto tell = [&](const char* what, const char* help, auto field) {
    uint64_t told = told_.*field;
    count(std::string("holdfast_track_") + what + "_total", help, stats.*field, told);
  };
  tell("no_backend", "Connections to a service without backends.", &hf_stats::no_backend);
  tell("rejected", "Connections refused because every zone was full.", &hf_stats::rejected);
  tell("overflowed", "Connections made beyond the limits, as the policy says.",
       &hf_stats::overflowed);
  tell("panicked", "Connections made although every backend was ejected.", &hf_stats::panicked);
  tell("spilled", "Connections to another zone than the preferred one.", &hf_stats::spilled);
  tell("untracked", "Connections that were translated and could not be counted.",
       &hf_stats::untracked);
  tell("probes", "Connections that tried an ejected backend.", &hf_stats::probes);
  tell("replaced_flows", "UDP flows ended because a socket had too many.", &hf_stats::replaced);
  told_ = stats;
}

void TrackMetrics::show(const std::vector<Drift>& drifts) {
  metrics::Family<metrics::Counter>& found = registry_.counter(kDrift);
  for (const char* kind : {"missed_ends", "missed_beginnings"}) found.with({{"kind", kind}});
  for (const Drift& drift : drifts) {
    if (drift.active == 0) continue;
    const char* kind = drift.active > 0 ? "missed_ends" : "missed_beginnings";
    found.with({{"kind", kind}}).add(static_cast<double>(std::abs(drift.active)));
  }
}

}  // namespace holdfast::track

#include "track/track_metrics.h"

#include <cstdlib>
#include <utility>

namespace holdfast::track {
namespace {

const metrics::Description kDrift = {
    .name = "holdfast_track_drift_connections_total",
    .help = "Connections that were counted wrongly, found by audits and repaired."};

metrics::Labels labels_of(const TrackMetrics::Names& names, uint8_t zone, const Vip& vip) {
  const Endpoint endpoint = endpoint_of(vip);
  return connection_labels({.src_zone = names.src_zone,
                            .dst_zone = names.dst_zones.at(zone),
                            .svc_ip = to_string(endpoint.address),
                            .svc_port = endpoint.port,
                            .svc_proto = std::string(protocol_name(vip))});
}

// A VIP that went from one number to another has two rows until the old one's connections end.
void add(TotalsRow& sum, const TotalsRow& row) {
  sum.opened += row.opened;
  sum.closed += row.closed;
  sum.active += row.active;
  sum.failures.refused += row.failures.refused;
  sum.failures.timed_out += row.failures.timed_out;
  sum.failures.reset += row.failures.reset;
  sum.failures.gave_up += row.failures.gave_up;
  sum.failures.cut += row.failures.cut;
}

}  // namespace

void TrackMetrics::show(const std::map<Key, TotalsRow>& rows, const Names& names) {
  ConnectionMetrics::Rows named;
  for (const auto& [key, row] : rows) {
    const auto service = names.services.find(key.service);
    if (service == names.services.end() || !names.dst_zones.contains(key.zone)) continue;
    add(named[labels_of(names, key.zone, service->second)], row);
  }
  connections_.show(named);
}

void TrackMetrics::show(const hf_stats& stats) {
  const auto tell = [&](const char* what, const char* help, auto field) {
    const uint64_t total = stats.*field;
    const uint64_t told = told_.*field;
    registry_.counter({.name = std::string("holdfast_track_") + what + "_total", .help = help})
        .with()
        .add(total > told ? static_cast<double>(total - told) : 0);
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

#include "track/connection_metrics.h"

#include <array>
#include <utility>

namespace holdfast::track {
namespace {

const metrics::Description kOpened = {.name = "holdfast_opened_connections_total",
                                      .help = "Connections opened, by service and zone."};
const metrics::Description kClosed = {.name = "holdfast_closed_connections_total",
                                      .help = "Connections closed, by service and zone."};
const metrics::Description kFailed = {
    .name = "holdfast_failed_connections_total",
    .help = "Connections that were not established, or were cut, by cause."};
const metrics::Description kActive = {.name = "holdfast_active_connections",
                                      .help = "Connections open now, by service and zone."};
const metrics::Description kHidden = {
    .name = "holdfast_track_hidden_rows",
    .help = "Rows of services and zones that are not shown because there are too many."};
const metrics::Description kReplaced = {
    .name = "holdfast_track_replaced_rows_total",
    .help = "Rows that had to give their place to a busier one."};

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

double difference(uint64_t total, uint64_t told) {
  return total > told ? static_cast<double>(total - told) : 0;
}

}  // namespace

metrics::Labels connection_labels(const ConnectionNames& names) {
  return {{"src_zone", names.src_zone},
          {"dst_zone", names.dst_zone},
          {"svc_ip", names.svc_ip},
          {"svc_port", std::to_string(names.svc_port)},
          {"svc_proto", names.svc_proto}};
}

void ConnectionMetrics::show(const Rows& rows) {
  SeriesChoice::Rows loads;
  for (const auto& [labels, row] : rows) {
    loads.emplace_hint(loads.end(), labels, SeriesLoad{.active = row.active, .opened = row.opened});
  }
  choice_.update(loads);
  hide_all_but(rows);
  for (const metrics::Labels& labels : choice_.shown()) {
    show_row(labels, rows.at(labels), told_[labels]);
  }
  registry_.gauge(kHidden).with().set(static_cast<double>(choice_.hidden()));
  const uint64_t replaced = choice_.replaced_total();
  registry_.counter(kReplaced).with().add(difference(replaced, replaced_told_));
  replaced_told_ = replaced;
}

void ConnectionMetrics::hide_all_but(const Rows& rows) {
  std::erase_if(told_, [&](const auto& told) {
    if (rows.contains(told.first) && choice_.shown().contains(told.first)) return false;
    remove(told.first);
    return true;
  });
}

void ConnectionMetrics::show_row(const metrics::Labels& labels, const TotalsRow& row,
                                 TotalsRow& told) {
  registry_.counter(kOpened).with(labels).add(difference(row.opened, told.opened));
  registry_.counter(kClosed).with(labels).add(difference(row.closed, told.closed));
  registry_.gauge(kActive).with(labels).set(row.active);
  show_failures(labels, row.failures, told.failures);
  told = row;
}

// A cause has a series once it has occurred.
void ConnectionMetrics::show_failures(const metrics::Labels& labels, const FailureTotals& now,
                                      const FailureTotals& told) {
  for (const auto& [cause, total] : kCauses) {
    if (now.*total == 0) continue;
    registry_.counter(kFailed)
        .with(with_cause(labels, cause))
        .add(difference(now.*total, told.*total));
  }
}

void ConnectionMetrics::remove(const metrics::Labels& labels) {
  registry_.counter(kOpened).remove(labels);
  registry_.counter(kClosed).remove(labels);
  registry_.gauge(kActive).remove(labels);
  for (const auto& [cause, total] : kCauses) {
    registry_.counter(kFailed).remove(with_cause(labels, cause));
  }
}

}  // namespace holdfast::track

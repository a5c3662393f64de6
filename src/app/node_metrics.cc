#include "app/node_metrics.h"

#include <chrono>

#include "app/metric_totals.h"

namespace holdfast::app {

void update_node_metrics(metrics::Registry& registry, node::NodeService& node) {
  MetricTotals metrics(registry);
  const auto count = [&](const char* name, const char* help, uint64_t total) {
    metrics.count({name, help}, {}, total);
  };
  const auto seconds = [](auto duration) {
    return std::chrono::duration<double>(duration).count();
  };
  const rpc::PickHealthyStats& link = node.pick().stats();
  metrics.set({"holdfast_link_connected", "1 while a controller is picked."}, {},
              node.pick().picked() ? 1 : 0);
  count("holdfast_link_dialled_total", "Connections to controllers begun.", link.dialled);
  count("holdfast_link_failed_dials_total", "Connections to controllers that came to nothing.",
        link.failed_dials);
  count("holdfast_link_swaps_total", "Times another connection took over.", link.swaps);
  count("holdfast_link_dropped_backups_total", "Times the old connection recovered first.",
        link.dropped_backups);
  count("holdfast_link_repeated_calls_total", "Attempts of calls beyond their first.",
        link.repeated_calls);
  count("holdfast_link_doubts_total", "Times a connection was doubted.", link.doubts);
  metrics.set({"holdfast_link_last_recovery_seconds",
               "How long the last outage was, from an unusable connection to a usable one."},
              {}, seconds(link.last_recovery));
  metrics.set({"holdfast_link_reconnect_interval_seconds",
               "How often a good connection is replaced; 0 is never."},
              {}, seconds(link.reconnect_interval));
  count("holdfast_link_not_active_total", "Answers of controllers that do not serve, or no longer.",
        link.not_active);
  count("holdfast_link_missed_beats_total", "Controllers that fell silent while nobody asked.",
        link.missed_beats);
  metrics.set({"holdfast_node_epoch", "The highest epoch that a pair of controllers has shown."},
              {}, static_cast<double>(node.fence().highest()));
  count("holdfast_node_fenced_total", "Answers refused because their epoch is over.",
        node.fence().refused());
  const node::NodeStats& stats = node.stats();
  count("holdfast_node_announcements_total", "Announcements taken by a controller.",
        stats.announced);
  count("holdfast_node_failed_announcements_total", "Announcements that failed.",
        stats.failed_announcements);
  count("holdfast_node_renewals_total", "Certificates renewed.", stats.renewed);
  count("holdfast_node_failed_renewals_total", "Renewals that failed.", stats.failed_renewals);
  metrics.set({"holdfast_cert_expiry_timestamp_seconds", "When a certificate runs out."},
              {{"certificate", "node"}},
              seconds(node.identity().validity.not_after.time_since_epoch()));
}

void update_load_metrics(metrics::Registry& registry, const node::LoadReportStats& stats) {
  MetricTotals metrics(registry);
  const metrics::Description reports{"holdfast_load_reports_total",
                                     "Load reports to controllers, by outcome."};
  metrics.count(reports, {{"outcome", "answered"}}, stats.answered);
  metrics.count(reports, {{"outcome", "failed"}}, stats.failed);
}

}  // namespace holdfast::app

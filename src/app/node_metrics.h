// A node's counters as metrics: its link to the controllers, its announcements, its certificate.
// The cache and the front count in the registry themselves.
#pragma once

#include "metrics/metrics.h"
#include "node/load_report_service.h"
#include "node/node_service.h"

namespace holdfast::app {

void update_node_metrics(metrics::Registry& registry, node::NodeService& node);

// Of load reports.
void update_load_metrics(metrics::Registry& registry, const node::LoadReportStats& stats);

}  // namespace holdfast::app

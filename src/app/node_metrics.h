// A node's counters as metrics: its link to the controllers, its announcements, its certificate.
// The cache and the front count in the registry themselves.
#pragma once

#include "metrics/metrics.h"
#include "node/node_service.h"

namespace holdfast::app {

void update_node_metrics(metrics::Registry& registry, node::NodeService& node);

}  // namespace holdfast::app

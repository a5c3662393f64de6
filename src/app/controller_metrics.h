// What a controller says of itself, as metrics.
#pragma once

#include "api/load_service.h"
#include "app/metric_totals.h"
#include "holdfast/v1/node.pb.h"

namespace holdfast::app {

// State of the process and its components, nodes, revision, certificates.
void set_status_metrics(MetricTotals& totals, const v1::GetStatusResponse& status);

// Of dealing capacities.
void set_load_metrics(MetricTotals& totals, const api::LoadService& load);

}  // namespace holdfast::app

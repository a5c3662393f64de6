#include "app/metric_totals.h"

namespace holdfast::app {

void MetricTotals::count(const metrics::Description& description, const metrics::Labels& labels,
                         uint64_t total) {
  metrics::Counter counter = registry_.counter(description).with(labels);
  const double more = static_cast<double>(total) - counter.value();
  if (more > 0) counter.add(more);
}

void MetricTotals::set(const metrics::Description& description, const metrics::Labels& labels,
                       double value) {
  registry_.gauge(description).with(labels).set(value);
}

}  // namespace holdfast::app

// What an ingress counts.
#pragma once

#include <string_view>

#include "metrics/metrics.h"
#include "tunnel/end_report.h"

namespace holdfast::ingress {

struct IngressMetrics {
  explicit IngressMetrics(metrics::Registry& registry);

  // A connection that came to its end, or never became a stream, by its code.
  void refused(std::string_view listener, std::string_view code);
  void ended(std::string_view listener, const tunnel::EndReport& report);

  metrics::Family<metrics::Counter>& taken;        // connections, by kind of listener
  metrics::Family<metrics::Counter>& turned_away;  // as they came, by the limit that held
  metrics::Family<metrics::Counter>& opened;       // connections that became streams, by listener
  metrics::Family<metrics::Counter>& refusals;     // by listener and code
  metrics::Family<metrics::Counter>& ends;         // streams, by listener and how they ended
  metrics::Family<metrics::Counter>& bytes;        // by direction
  metrics::Gauge connections;
  metrics::Gauge waiting;
  metrics::Histogram dial_seconds;
};

}  // namespace holdfast::ingress

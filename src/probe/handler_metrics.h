// What the handler counts: answers by probe and outcome, times by kind, refusals by reason. There
// are as many series as a registry has probes; what callers ask for adds none.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "metrics/metrics.h"
#include "net/http_message.h"
#include "probe/registry.h"

namespace holdfast::probe {

// What the registry of metrics must have room for in one family, so that none is dropped.
inline constexpr size_t kMaxSeries = 4 * kMaxProbes;

class HandlerMetrics {
 public:
  explicit HandlerMetrics(metrics::Registry& registry);

  // The probes there are from here on. What was counted of others is not shown any more.
  void use(const Registry& registry);
  // To a request that got no probe: the handler's own health is one, too.
  void count_unasked(const net::HttpResponse& answer);
  // `path` is that of `probe`; if use() took it away meanwhile, nothing is counted.
  void count_outcome(const std::string& path, const Probe& probe, const Outcome& outcome,
                     Duration took);
  // The caller went away before its probe ended.
  void count_cancelled(const std::string& path);

 private:
  enum End : size_t { Healthy, Failed, Error, Cancelled, kEnds };
  void count(const std::string& path, End end);
  metrics::Histogram& durations_of(std::string_view kind);

  metrics::Gauge registered_;
  metrics::Family<metrics::Counter>& probes_;
  metrics::Family<metrics::Counter>& unasked_;
  metrics::Family<metrics::Histogram>& durations_;
  // Of the probes there are, the series that were met: making their labels anew for each probe
  // costs more than counting.
  std::map<std::string, std::array<std::optional<metrics::Counter>, kEnds>> known_probes_{};
  std::map<std::string_view, metrics::Histogram> known_durations_{};
};

}  // namespace holdfast::probe

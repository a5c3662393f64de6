#include "probe/handler_metrics.h"

#include "probe/answer.h"

namespace holdfast::probe {
namespace {

constexpr const char* kNames[] = {"healthy", "failed", "error", "cancelled"};  // of each End

}  // namespace

HandlerMetrics::HandlerMetrics(metrics::Registry& registry)
    : registered_(registry
                      .gauge({.name = "holdfast_probe_registered",
                              .help = "Probes that the handler knows."})
                      .with()),
      probes_(registry.counter(
          {.name = "holdfast_probe_outcomes_total",
           .help = "Probes made for callers of the handler, by its path and what became of it."})),
      unasked_(registry.counter(
          {.name = "holdfast_probe_other_requests_total",
           .help = "Requests to the handler that ask for no probe, by what they were."})),
      durations_(registry.histogram(
          {.name = "holdfast_probe_duration_seconds",
           .help = "How long probes took that had an outcome, by kind."},
          {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30})) {}

void HandlerMetrics::count_unasked(const net::HttpResponse& answer) {
  const char* what = "unregistered";
  if (answer.status == 405) what = "method";
  if (answer.status == 200) what = "own_health";
  unasked_.with({{"what", what}}).add();
}

void HandlerMetrics::use(const Registry& registry) {
  decltype(known_probes_) next;
  for (size_t i = 0; i < registry.probes().size(); ++i) {
    auto before = known_probes_.extract(registry.path(i));
    if (before.empty()) {
      next[registry.path(i)];
    } else {
      next.insert(std::move(before));
    }
  }
  for (const auto& [path, series] : known_probes_) {
    for (const char* end : kNames) probes_.remove({{"probe", path}, {"outcome", end}});
  }
  known_probes_ = std::move(next);
  registered_.set(static_cast<double>(known_probes_.size()));
}

void HandlerMetrics::count_outcome(const std::string& path, const Probe& probe,
                                   const Outcome& outcome, Duration took) {
  const End otherwise = outcome.error ? Error : Failed;
  count(path, outcome.healthy ? Healthy : otherwise);
  durations_of(kind_text(probe)).observe(std::chrono::duration<double>(took).count());
}

void HandlerMetrics::count_cancelled(const std::string& path) {
  count(path, Cancelled);
}

void HandlerMetrics::count(const std::string& path, End end) {
  const auto found = known_probes_.find(path);
  if (found == known_probes_.end()) return;
  std::optional<metrics::Counter>& known = found->second[end];
  if (!known) known = probes_.with({{"probe", path}, {"outcome", kNames[end]}});
  known->add();
}

metrics::Histogram& HandlerMetrics::durations_of(std::string_view kind) {
  const auto known = known_durations_.find(kind);
  if (known != known_durations_.end()) return known->second;
  const metrics::Histogram made = durations_.with({{"kind", std::string(kind)}});
  return known_durations_.emplace(kind, made).first->second;
}

}  // namespace holdfast::probe

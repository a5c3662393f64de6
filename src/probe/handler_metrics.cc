#include "probe/handler_metrics.h"

#include "probe/answer.h"

namespace holdfast::probe {
namespace {

constexpr const char* kOutcomes[] = {"healthy", "failed", "error", "cancelled"};  // by End

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

void HandlerMetrics::use(const Registry& registry) {
  std::map<std::string, Ends, std::less<>> paths;
  for (size_t i = 0; i < registry.probes().size(); ++i) {
    const auto known = paths_.extract(registry.path(i));
    paths.emplace(registry.path(i), known ? known.mapped() : Ends{});
  }
  for (const auto& [path, ends] : paths_) {
    for (const char* outcome : kOutcomes) probes_.remove({{"probe", path}, {"outcome", outcome}});
  }
  paths_ = std::move(paths);
  registered_.set(static_cast<double>(paths_.size()));
}

void HandlerMetrics::count_unasked(const net::HttpResponse& answer) {
  const char* what = "unregistered";
  if (answer.status == 405) what = "method";
  if (answer.status == 200) what = "own_health";
  unasked_.with({{"what", what}}).add();
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
  const auto known = paths_.find(path);
  if (known == paths_.end()) return;
  std::optional<metrics::Counter>& series = known->second[end];
  if (!series) series = probes_.with({{"probe", path}, {"outcome", kOutcomes[end]}});
  series->add();
}

metrics::Histogram& HandlerMetrics::durations_of(std::string_view kind) {
  const auto known = known_durations_.find(kind);
  if (known != known_durations_.end()) return known->second;
  const metrics::Histogram made = durations_.with({{"kind", std::string(kind)}});
  return known_durations_.emplace(kind, made).first->second;
}

}  // namespace holdfast::probe

#include "probe/handler_metrics.h"

#include "probe/answer.h"

namespace holdfast::probe {
namespace {

constexpr const char* kOutcomes[] = {"healthy", "failed", "error", "cancelled"};

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
  std::set<std::string, std::less<>> paths;
  for (size_t i = 0; i < registry.probes().size(); ++i) paths.insert(registry.path(i));
  for (const std::string& path : paths_) {
    if (paths.contains(path)) continue;
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
  const char* otherwise = outcome.error ? "error" : "failed";
  count(path, outcome.healthy ? "healthy" : otherwise);
  durations_.with({{"kind", std::string(kind_text(probe))}})
      .observe(std::chrono::duration<double>(took).count());
}

void HandlerMetrics::count_cancelled(const std::string& path) {
  count(path, "cancelled");
}

void HandlerMetrics::count(const std::string& path, std::string_view outcome) {
  if (!paths_.contains(path)) return;
  probes_.with({{"probe", path}, {"outcome", std::string(outcome)}}).add();
}

}  // namespace holdfast::probe

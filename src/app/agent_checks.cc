#include "app/agent_checks.h"

#include <fmt/format.h>

#include <utility>

#include "app/metric_totals.h"
#include "base/bytes.h"
#include "base/reason.h"
#include "tunnel/exposed_facts.h"

namespace holdfast::app {
namespace {

constexpr size_t kMostNamed = 3;

std::string check_reason(const std::string& reason) {
  if (reason.size() <= tunnel::kMaxKeptReason && !first_invalid_utf8(reason)) return reason;
  const std::string safe = in_quotes(reason, tunnel::kMaxKeptReason);
  return safe.substr(1, safe.size() - 2);
}

}  // namespace

AgentChecks::AgentChecks(const asio::any_io_executor& loop, const Clock& clock, uint64_t seed)
    : prober_(loop, {.user_agent = "holdfast-check/1.0"}),
      checks_({.loop = loop,
               .clock = clock,
               .run = [this](const probe::Probe& probe) { return prober_.run(probe); },
               .seed = seed}) {}

void AgentChecks::judge(v1::Exposed& exposed) const {
  for (v1::ExposedService& service : *exposed.mutable_services()) {
    const probe::Verdict verdict = checks_.verdict(service.service());
    service.set_healthy(verdict.healthy);
    service.set_reason(check_reason(verdict.reason));
  }
}

ComponentReport AgentChecks::report() const {
  std::string why;
  size_t unhealthy = 0;
  for (const probe::CheckTable::Row& row : checks_.rows()) {
    if (row.verdict.healthy || ++unhealthy > kMostNamed) continue;
    why += fmt::format("{}{}: {}", why.empty() ? "" : "; ", row.name, row.verdict.reason);
  }
  if (unhealthy == 0) return {.component = "services", .status = absl::OkStatus()};
  if (unhealthy > kMostNamed) why += fmt::format("; and {} others", unhealthy - kMostNamed);
  return {.component = "services",
          .status = coded(absl::StatusCode::kUnavailable, "HF2150", why),
          .is_warning = true};
}

void AgentChecks::update_metrics(metrics::Registry& registry) {
  MetricTotals metrics(registry);
  const metrics::Description healthy{"holdfast_agent_check_healthy",
                                     "1 while the check finds its service healthy."};
  const metrics::Description probes{"holdfast_agent_checks_total",
                                    "Probes of services, by what became of them."};
  const metrics::Description turns{"holdfast_agent_check_turns_total",
                                   "Times a check turned from healthy to unhealthy, or back."};
  // A service whose check is gone is as healthy as any without one.
  for (const std::string& name : shown_) metrics.set(healthy, {{"check", name}}, 1);
  for (const probe::CheckTable::Row& row : checks_.rows()) {
    shown_.insert(row.name);
    metrics.set(healthy, {{"check", row.name}}, row.verdict.healthy ? 1 : 0);
    metrics.count(turns, {{"check", row.name}}, row.stats.turned);
    metrics.count(probes, {{"check", row.name}, {"outcome", "succeeded"}}, row.stats.succeeded);
    metrics.count(probes, {{"check", row.name}, {"outcome", "failed"}}, row.stats.failed);
    metrics.count(probes, {{"check", row.name}, {"outcome", "error"}}, row.stats.thrown_away);
  }
}

}  // namespace holdfast::app

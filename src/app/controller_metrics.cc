#include "app/controller_metrics.h"

#include <chrono>

#include "resource/proto_time.h"

namespace holdfast::app {
namespace {

double seconds(const google::protobuf::Timestamp& stamp) {
  const auto since = resource::to_wall_time(stamp).time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

}  // namespace

void set_status_metrics(MetricTotals& totals, const v1::GetStatusResponse& status) {
  totals.set({"holdfast_process_state", "0 ok, 1 recovering, 2 degraded, 3 starting."}, {},
             status.state());
  for (const v1::ComponentStatus& component : status.components()) {
    totals.set({"holdfast_component_state", "As holdfast_process_state, of one component."},
               {{"component", component.name()}}, component.state());
  }
  const metrics::Description nodes{"holdfast_nodes", "Nodes that announced themselves, by state."};
  for (const v1::NodeCount& node : status.nodes()) {
    totals.set(nodes, {{"kind", node.kind()}, {"state", "online"}},
               static_cast<double>(node.online()));
    totals.set(nodes, {{"kind", node.kind()}, {"state", "offline"}},
               static_cast<double>(node.offline()));
  }
  totals.set({"holdfast_store_revision", "Revision of the store that events have reached."}, {},
             static_cast<double>(status.revision()));
  totals.set({"holdfast_watchers", "Watches that are open."}, {},
             static_cast<double>(status.watchers()));
  const metrics::Description expiry{"holdfast_cert_expiry_timestamp_seconds",
                                    "When a certificate runs out."};
  if (status.has_certificate_expires()) {
    totals.set(expiry, {{"certificate", "controller"}}, seconds(status.certificate_expires()));
    totals.set(expiry, {{"certificate", "authority"}}, seconds(status.authority_expires()));
  }
}

void set_load_metrics(MetricTotals& totals, const api::LoadService& load) {
  const api::LoadStats& stats = load.stats();
  const metrics::Description reports{"holdfast_load_received_total",
                                     "Load reports of proxies and agents, by outcome."};
  totals.count(reports, {{"outcome", "dealt"}}, stats.reports);
  totals.count(reports, {{"outcome", "refused"}}, stats.refused);
  totals.count(reports, {{"outcome", "over_rate"}}, stats.over_rate);
  totals.count(reports, {{"outcome", "passed_on"}}, stats.passed_on);
  totals.count(reports, {{"outcome", "not_passed_on"}}, stats.not_passed_on);
  const route::Dealer* dealer = load.dealer();
  totals.set({"holdfast_load_holders", "Proxies and agents that share capacities dealt here."}, {},
             dealer == nullptr ? 0 : static_cast<double>(dealer->holder_count()));
}

}  // namespace holdfast::app

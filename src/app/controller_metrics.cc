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

}  // namespace holdfast::app

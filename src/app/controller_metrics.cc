#include "app/controller_metrics.h"

#include "resource/proto_time.h"

namespace holdfast::app {
namespace {

double seconds(const google::protobuf::Timestamp& stamp) {
  const auto since = resource::to_wall_time(stamp).time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

}  // namespace

void ControllerMetrics::count(const metrics::Description& description,
                              const metrics::Labels& labels, uint64_t total) {
  metrics::Counter counter = registry_.counter(description).with(labels);
  const double more = static_cast<double>(total) - counter.value();
  if (more > 0) counter.add(more);
}

void ControllerMetrics::set(const metrics::Description& description, const metrics::Labels& labels,
                            double value) {
  registry_.gauge(description).with(labels).set(value);
}

void ControllerMetrics::set_status(const v1::GetStatusResponse& status) {
  set({"holdfast_process_state", "0 ok, 1 recovering, 2 degraded, 3 starting."}, {},
      status.state());
  for (const v1::ComponentStatus& component : status.components()) {
    set({"holdfast_component_state", "As holdfast_process_state, of one component."},
        {{"component", component.name()}}, component.state());
  }
  const metrics::Description nodes{"holdfast_nodes", "Nodes that announced themselves, by state."};
  for (const v1::NodeCount& node : status.nodes()) {
    set(nodes, {{"kind", node.kind()}, {"state", "online"}}, static_cast<double>(node.online()));
    set(nodes, {{"kind", node.kind()}, {"state", "offline"}}, static_cast<double>(node.offline()));
  }
  set({"holdfast_store_revision", "Revision of the store that events have reached."}, {},
      static_cast<double>(status.revision()));
  set({"holdfast_watchers", "Watches that are open."}, {}, static_cast<double>(status.watchers()));
  const metrics::Description expiry{"holdfast_cert_expiry_timestamp_seconds",
                                    "When a certificate runs out."};
  if (status.has_certificate_expires()) {
    set(expiry, {{"certificate", "controller"}}, seconds(status.certificate_expires()));
    set(expiry, {{"certificate", "authority"}}, seconds(status.authority_expires()));
  }
}

}  // namespace holdfast::app

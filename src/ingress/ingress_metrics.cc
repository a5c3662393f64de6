#include "ingress/ingress_metrics.h"

namespace holdfast::ingress {

IngressMetrics::IngressMetrics(metrics::Registry& registry)
    : taken(registry.counter({.name = "holdfast_ingress_connections_total",
                              .help = "Clients' connections taken, by listener."})),
      turned_away(registry.counter(
          {.name = "holdfast_ingress_turned_away_connections_total",
           .help = "Clients' connections closed as they came, by the limit that held."})),
      opened(registry.counter({.name = "holdfast_ingress_opened_streams_total",
                               .help = "Clients' connections that reached a service."})),
      refusals(registry.counter({.name = "holdfast_ingress_refusals_total",
                                 .help = "Clients refused or given up, by reason code."})),
      ends(registry.counter({.name = "holdfast_ingress_ended_streams_total",
                             .help = "Clients' streams that ended, by how."})),
      bytes(registry.counter({.name = "holdfast_ingress_carried_bytes_total",
                              .help = "Bytes between clients and services, by direction."})),
      connections(registry
                      .gauge({.name = "holdfast_ingress_connections",
                              .help = "Clients' connections that are open."})
                      .with()),
      waiting(registry
                  .gauge({.name = "holdfast_ingress_waiting_connections",
                          .help = "Those that have not yet said what they want."})
                  .with()),
      dial_seconds(registry
                       .histogram({.name = "holdfast_ingress_dial_seconds",
                                   .help = "From what a client wants to an open stream."},
                                  {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 2.5, 10})
                       .with()) {}

void IngressMetrics::refused(std::string_view listener, std::string_view code) {
  refusals.with({{"listener", std::string(listener)}, {"code", std::string(code)}}).add();
}

void IngressMetrics::ended(std::string_view listener, const tunnel::EndReport& report) {
  const std::string_view how = report.reset ? to_string(*report.reset) : "ended";
  ends.with({{"listener", std::string(listener)}, {"how", std::string(how)}}).add();
  bytes.with({{"direction", "to_client"}}).add(static_cast<double>(report.from_peer));
  bytes.with({{"direction", "from_client"}}).add(static_cast<double>(report.to_peer));
}

}  // namespace holdfast::ingress

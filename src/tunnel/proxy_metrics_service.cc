#include "tunnel/proxy_metrics_service.h"

#include <algorithm>

namespace holdfast::tunnel {

void RoundTrips::add(const std::optional<Duration>& round_trip) {
  if (!round_trip) return;
  shortest = count == 0 ? *round_trip : std::min(shortest, *round_trip);
  longest = std::max(longest, *round_trip);
  sum += *round_trip;
  count += 1;
}

void ProxyMetrics::count(const metrics::Description& description, const metrics::Labels& labels,
                         uint64_t total) {
  metrics::Counter counter = registry_.counter(description).with(labels);
  const double more = static_cast<double>(total) - counter.value();
  if (more > 0) counter.add(more);
}

void ProxyMetrics::count_each(const metrics::Description& description, const std::string& label,
                              const std::map<std::string, uint64_t>& totals) {
  for (const auto& [value, total] : totals) count(description, {{label, value}}, total);
}

void ProxyMetrics::set(const metrics::Description& description, double value) {
  registry_.gauge(description).with().set(value);
}

void ProxyMetrics::show_tunnels(const ProxyShared& shared) {
  const TunnelTableStats& stats = shared.table.stats();
  set({"holdfast_tunnel_agent_tunnels", "Tunnels of agents that this proxy holds."},
      static_cast<double>(shared.table.tunnel_count()));
  set({"holdfast_tunnel_agents", "Agents that it can reach by tunnels of its own."},
      static_cast<double>(shared.table.agent_count()));
  set({"holdfast_tunnel_streams", "Connections that run through tunnels and peers."},
      static_cast<double>(shared.streams));
  count({"holdfast_tunnel_welcomed_total", "Tunnels that were made."}, {}, stats.added);
  const metrics::Description ended{"holdfast_tunnel_ended_total", "Tunnels that ended."};
  count(ended, {{"how", "lost"}}, shared.counts.tunnels_lost);
  count(ended, {{"how", "goodbye"}}, shared.counts.tunnels_left);
  count_each({"holdfast_tunnel_end_codes_total", "Tunnels that ended, by the code of why."}, "code",
             shared.counts.tunnels_ended);
  count_each({"holdfast_tunnel_refused_total", "Tunnels refused after their hello."}, "code",
             shared.counts.refused_tunnels);
  count_each({"holdfast_tunnel_broken_total", "Tunnels and links of peers that broke, by how."},
             "code", shared.counts.broken);
  count({"holdfast_tunnel_invalidated_total", "Tunnels found silent."}, {}, stats.invalidated);
  count({"holdfast_tunnel_revived_total", "Silent tunnels heard from again."}, {}, stats.revived);
  count({"holdfast_tunnel_last_resort_total", "Streams that were tried on a silent tunnel."}, {},
        stats.last_resort);
}

void ProxyMetrics::show_admission(const Admission& admission) {
  const AdmissionStats& stats = admission.stats();
  set({"holdfast_tunnel_handshakes", "Handshakes that run."},
      static_cast<double>(admission.handshakes()));
  set({"holdfast_tunnel_waiting", "Connections that wait for their handshake."},
      static_cast<double>(admission.waiting()));
  const metrics::Description outcomes{"holdfast_tunnel_admissions_total",
                                      "Connections to the tunnel listener, by outcome."};
  count(outcomes, {{"outcome", "admitted"}}, stats.admitted);
  count(outcomes, {{"outcome", "refused"}}, stats.refused);
  count(outcomes, {{"outcome", "dropped"}}, stats.dropped);
  count(outcomes, {{"outcome", "failed"}}, stats.failed);
  count(outcomes, {{"outcome", "quiet"}}, stats.quiet);
  count(outcomes, {{"outcome", "failing"}}, stats.failing);
}

void ProxyMetrics::show_dials(const ProxyCounts& counts) {
  count_each({"holdfast_tunnel_dials_total",
              "Connections to services: by own tunnels, by peers, or why not."},
             "outcome", counts.dials);
  count({"holdfast_tunnel_retries_total", "Agents that did not take a connection."}, {},
        counts.retried);
  count({"holdfast_tunnel_failed_handshakes_total", "Connections without a good hello."}, {},
        counts.failed_handshakes);
}

void ProxyMetrics::show_discovery(const ProxyShared& shared) {
  count({"holdfast_tunnel_discovery_sent_total", "Messages to agents about proxies."}, {},
        shared.counts.discovery_sent);
  count({"holdfast_tunnel_discovery_dropped_total", "The same, not sent: the agent reads slowly."},
        {}, shared.counts.discovery_dropped);
  count({"holdfast_tunnel_discovery_heard_total", "Times a proxy was heard from."}, {},
        shared.discovery.stats().heard);
  count({"holdfast_tunnel_discovery_refused_total", "Proxies beyond what is kept."}, {},
        shared.discovery.stats().refused);
  count_each({"holdfast_tunnel_advised_total", "Tunnels advised to move."}, "code",
             shared.counts.advised);
}

void ProxyMetrics::show_peers(const ProxyShared& shared, size_t peer_links) {
  const ProxyCounts& counts = shared.counts;
  set({"holdfast_peer_links", "Links with other proxies, dialled and taken."},
      static_cast<double>(peer_links));
  set({"holdfast_peer_held_agents", "Agents that peers say they hold."},
      static_cast<double>(shared.peers.entry_count()));
  set({"holdfast_peer_relays", "Streams of peers that are carried on to agents."},
      static_cast<double>(shared.relays));
  count({"holdfast_peer_connected_total", "Links made to peers."}, {}, counts.peers_connected);
  count({"holdfast_peer_renewed_total", "Of these, in the place of another one."}, {},
        counts.peers_renewed);
  count({"holdfast_peer_lost_total", "Links to peers that ended."}, {}, counts.peers_lost);
  count({"holdfast_peer_failed_dials_total", "Tries to reach a peer that failed."}, {},
        counts.peer_dials_failed);
  count({"holdfast_peer_forgotten_total", "Peers that stayed away beyond the grace."}, {},
        shared.peers.stats().forgotten);
  count({"holdfast_peer_dropped_agents_total", "Agents of peers beyond what is kept."}, {},
        shared.peers.stats().dropped_agents);
  count({"holdfast_peer_relayed_total", "Streams of peers that were taken."}, {}, counts.relayed);
  count({"holdfast_peer_holding_sent_total", "Messages to peers about agents."}, {},
        counts.holding_sent);
  count_each({"holdfast_peer_refused_total", "Peers refused."}, "code", counts.refused_peers);
  count_each({"holdfast_peer_refused_relays_total", "Streams of peers that were refused."}, "why",
             counts.relays_refused);
}

void ProxyMetrics::show_drain(const ProxyShared& shared) {
  set({"holdfast_tunnel_drain_phase",
       "0 running, 1 deregistering, 2 advising, 3 waiting, 4 closed."},
      static_cast<double>(shared.drain.phase()));
  count({"holdfast_tunnel_drains_total", "Drains that began."}, {}, shared.counts.drains);
  count({"holdfast_tunnel_drains_unannounced_total", "Those that no controller took in time."}, {},
        shared.counts.drains_unannounced);
  count({"holdfast_tunnel_drain_cut_total", "Streams that ran at a drain's deadline."}, {},
        shared.counts.cut_streams);
}

void ProxyMetrics::update(const ProxyShared& shared, const Numbers& numbers) {
  show_tunnels(shared);
  show_admission(numbers.admission);
  show_dials(shared.counts);
  show_discovery(shared);
  show_peers(shared, numbers.peer_links);
  show_drain(shared);
  const LinkBuffers& buffers = shared.parts.buffers;
  set({"holdfast_tunnel_kept_bytes", "Bytes kept for those who read slowly."},
      static_cast<double>(buffers.kept_bytes()));
  const metrics::Description slow{"holdfast_tunnel_slow_readers_total",
                                  "Streams refused or cut because too much was kept."};
  count(slow, {{"what", "refused"}}, buffers.refused_streams());
  count(slow, {{"what", "cut"}}, buffers.cut_streams());
  count({"holdfast_tunnel_no_descriptors_total", "Times nothing could be accepted."}, {},
        numbers.no_descriptors);
  show_sessions(numbers.sessions);
  show_round_trips(numbers.round_trips);
}

void ProxyMetrics::show_round_trips(const RoundTrips& round_trips) {
  metrics::Family<metrics::Gauge>& family = registry_.gauge(
      {"holdfast_tunnel_round_trip_seconds", "Smoothed round trips of agents' tunnels."});
  const auto show = [&family](const char* which, Duration value) {
    family.with({{"which", which}}).set(std::chrono::duration<double>(value).count());
  };
  const auto tunnels = static_cast<int64_t>(std::max<size_t>(1, round_trips.count));
  show("shortest", round_trips.shortest);
  show("mean", round_trips.sum / tunnels);
  show("longest", round_trips.longest);
}

void ProxyMetrics::show_sessions(const SessionStats& stats) {
  const metrics::Description bytes{"holdfast_tunnel_carried_bytes_total",
                                   "Bytes of connections through tunnels of this proxy."};
  count(bytes, {{"direction", "from_agents"}}, stats.bytes_in);
  count(bytes, {{"direction", "to_agents"}}, stats.bytes_out);
  const metrics::Description streams{"holdfast_tunnel_session_streams_total",
                                     "What became of streams in tunnels of this proxy."};
  count(streams, {{"what", "opened"}}, stats.opened);
  count(streams, {{"what", "given_up"}}, stats.given_up);
  count(streams, {{"what", "throttled"}}, stats.throttled);
  count(streams, {{"what", "full"}}, stats.full);
  count(streams, {{"what", "reset"}}, stats.resets);
  count({"holdfast_tunnel_dropped_bytes_total", "Bytes that came for connections that were over."},
        {}, stats.bytes_dropped);
}

}  // namespace holdfast::tunnel

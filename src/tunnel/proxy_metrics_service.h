// What a proxy's tunnels count, as metrics; brought up to date when someone asks for them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "metrics/metrics.h"
#include "tunnel/admission.h"
#include "tunnel/proxy_shared_service.h"

namespace holdfast::tunnel {

// Smoothed, of tunnels as they are now.
struct RoundTrips {
  size_t count = 0;
  Duration shortest{};
  Duration longest{};
  Duration sum{};
  void add(const std::optional<Duration>& round_trip);
};

class ProxyMetrics {
 public:
  explicit ProxyMetrics(metrics::Registry& registry) : registry_(registry) {}

  // What is not in the cores.
  struct Numbers {
    const Admission& admission;
    uint64_t no_descriptors = 0;
    size_t peer_links = 0;
    SessionStats sessions{};  // of all tunnels there were
    RoundTrips round_trips{};
  };
  void update(const ProxyShared& shared, const Numbers& numbers);

 private:
  void count(const metrics::Description& description, const metrics::Labels& labels,
             uint64_t total);
  void count_each(const metrics::Description& description, const std::string& label,
                  const std::map<std::string, uint64_t>& totals);
  void set(const metrics::Description& description, double value);
  void show_tunnels(const ProxyShared& shared);
  void show_sessions(const SessionStats& stats);
  void show_round_trips(const RoundTrips& round_trips);
  void show_admission(const Admission& admission);
  void show_dials(const ProxyCounts& counts);
  void show_discovery(const ProxyShared& shared);
  void show_peers(const ProxyShared& shared, size_t peer_links);
  void show_drain(const ProxyShared& shared);

  metrics::Registry& registry_;
};

}  // namespace holdfast::tunnel

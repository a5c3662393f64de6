// Where proxies are dialled: the desired ones, those whose mention has expired, and the addresses
// of the configuration; how often each failed lately, and which one is next.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "tunnel/tracker.h"

namespace holdfast::tunnel {

struct PoolOptions;

// The order in which kinds of places are tried, other things being equal.
enum class PlaceKind : uint8_t { Desired, Bootstrap, OldGeneration, Remembered, Draining };

struct Place {
  std::string proxy;  // empty: whoever is there
  std::string zone;
  std::string address;
  PlaceKind kind = PlaceKind::Desired;
  uint32_t failures = 0;  // lately
  Time not_before;        // as it asked for
};

class ProxyBook {
 public:
  explicit ProxyBook(const PoolOptions& options);

  void set_bootstrap(const std::vector<std::string>& addresses);
  // An expired proxy: still somewhere to go when there is nothing better.
  void remember(const ProxyInfo& proxy, Time now);
  void forget(std::string_view proxy);

  // Outcomes, by proxy if it is known and by address else.
  void failed(const Place& place, Time now);
  void refused(const Place& place, Time until, Time now);
  void succeeded(const Place& place);

  // All places that could be dialled if leases allow: nobody who is claimed. `last_resort` adds
  // those that are not desired.
  std::vector<Place> places(const Tracker& tracker, bool last_resort, Time now) const;

  size_t remembered() const { return remembered_.size(); }
  size_t ignored_bootstrap() const { return ignored_bootstrap_; }
};

}  // namespace holdfast::tunnel

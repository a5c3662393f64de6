// Where proxies are dialled: the desired ones, those whose mention has expired, and the addresses
// of the configuration; how often each failed lately, and when each may be asked again.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tunnel/tracker.h"

namespace holdfast::tunnel {

struct BookOptions {
  Duration forget_failures = std::chrono::seconds(32);
  size_t max_remembered = 256;  // expired proxies; then the one that expired first is forgotten
  size_t max_bootstrap = 64;    // further addresses are ignored, and counted
  size_t max_records = 2'048;   // of outcomes; then the oldest is forgotten
};

// The order in which kinds of places are tried, other things being equal.
enum class PlaceKind : uint8_t { Desired, OldGeneration, Bootstrap, Remembered, Draining };

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
  explicit ProxyBook(BookOptions options) : options_(options) {}

  void set_bootstrap(const std::vector<std::string>& addresses);
  // An expired proxy: still somewhere to go when there is nothing better.
  void remember(const ProxyInfo& proxy, Time now);
  void forget(std::string_view proxy);

  // Outcomes. `key` is the proxy's name, or the address if that is all there is.
  void failed(const std::string& key, Time now);
  void refused(const std::string& key, Time until, Time now);

  // All places that could be dialled if leases allow: nobody who is claimed. `last_resort` adds
  // those that are not desired.
  std::vector<Place> places(const Tracker& tracker, bool last_resort, Time now) const;

  size_t remembered() const { return remembered_.size(); }
  size_t bootstrap() const { return bootstrap_.size(); }
  size_t ignored_bootstrap() const { return ignored_bootstrap_; }

 private:
  struct Record {
    uint32_t failures = 0;
    Time touched;
    Time not_before;
  };
  struct Remembered {
    ProxyInfo info;
    Time expired;
  };

  Record& record(const std::string& key, Time now);
  void add(std::vector<Place>& places, Place place, Time now) const;
  bool leads_to_known(const Tracker& tracker, std::string_view address) const;

  BookOptions options_;
  std::vector<std::string> bootstrap_;
  std::map<std::string, Remembered, std::less<>> remembered_;
  std::map<std::string, Record, std::less<>> records_;
  size_t ignored_bootstrap_ = 0;
};

}  // namespace holdfast::tunnel

// What parts read of the cache, and which state of a kind they have seen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cache/snapshot.h"

namespace holdfast::app {

class CacheMark {
 public:
  // Whether the kind can be read and is not what it was at the last call.
  template <typename Guard>
  bool moved(const Guard& guard) {
    if (!guard) return false;
    const std::pair<uint64_t, int64_t> now(guard.generation(), guard.revision());
    return std::exchange(seen_, now) != now;
  }

 private:
  std::optional<std::pair<uint64_t, int64_t>> seen_;
};

// Absent if there is none, or nobody knows.
inline std::optional<v1::Service> find_service(cache::View& view, const std::string& name) {
  const auto services = view.read<resource::Kind::Service>();
  const auto found = services ? services.find(name) : std::nullopt;
  return found ? std::optional(found->body) : std::nullopt;
}

// The cluster's settings; the defaults if there are none.
inline v1::NetworkingConfig networking_config(cache::View& view) {
  const auto settings = view.read<resource::Kind::NetworkingConfig>();
  const auto found = settings ? settings.find("default") : std::nullopt;
  return found ? found->body : v1::NetworkingConfig();
}

// Each with its name, as `Proxy` has it.
template <typename Proxy>
std::vector<Proxy> all_proxies(cache::View& view) {
  std::vector<Proxy> out;
  const auto proxies = view.read<resource::Kind::Proxy>();
  if (!proxies) return out;
  proxies.for_each([&](const auto& entry) {
    out.push_back({.name = entry.metadata.name(), .proxy = entry.body});
    return true;
  });
  return out;
}

}  // namespace holdfast::app

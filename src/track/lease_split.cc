#include "track/lease_split.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace holdfast::track {
namespace {

// A fifth is left, or less.
bool is_short(const PortDemand& port) {
  return port.taken + port.before / 5 >= port.before;
}

bool still_good(uint32_t lease, std::span<const PortDemand> ports) {
  uint64_t sum = 0;
  for (const PortDemand& port : ports) {
    if (port.before == kNotLimited || is_short(port)) return false;
    sum += port.before;
  }
  return sum == lease;
}

// In proportion to what is taken, and a little for who has nothing; the sum is the lease.
std::vector<uint32_t> targets(uint32_t lease, std::span<const PortDemand> ports) {
  uint64_t weights = 0;
  for (const PortDemand& port : ports) weights += uint64_t{port.taken} + 1;
  std::vector<uint32_t> shares;
  std::vector<std::pair<uint64_t, size_t>> rests;  // with the port, from the last one
  for (const PortDemand& port : ports) {
    const uint64_t scaled = uint64_t{lease} * (uint64_t{port.taken} + 1);
    shares.push_back(static_cast<uint32_t>(scaled / weights));
    rests.emplace_back(scaled % weights, ports.size() - rests.size());
  }
  std::ranges::sort(rests, std::greater<>());
  uint64_t left = lease - std::accumulate(shares.begin(), shares.end(), uint64_t{0});
  for (size_t i = 0; left > 0; ++i, --left) shares[ports.size() - rests[i].second] += 1;
  return shares;
}

// What a port may have taken by the time the new limits are in force.
uint64_t charge(const PortDemand& port) {
  return port.before == kNotLimited ? port.taken : std::max(port.taken, port.before);
}

}  // namespace

std::vector<uint32_t> split_lease(uint32_t lease, std::span<const PortDemand> ports) {
  std::vector<uint32_t> limits;
  if (ports.size() == 1) return {lease};
  if (still_good(lease, ports)) {
    for (const PortDemand& port : ports) limits.push_back(port.before);
    return limits;
  }
  uint64_t charged = 0;
  for (const PortDemand& port : ports) charged += charge(port);
  uint64_t room = charged < lease ? lease - charged : 0;
  limits = targets(lease, ports);
  for (size_t i = 0; i < ports.size(); ++i) {
    const uint64_t has = charge(ports[i]);
    if (limits[i] <= has) continue;
    const uint64_t more = std::min<uint64_t>(limits[i] - has, room);
    limits[i] = static_cast<uint32_t>(has + more);
    room -= more;
  }
  return limits;
}

}  // namespace holdfast::track

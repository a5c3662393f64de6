#include "tunnel/exposed_facts.h"

#include <algorithm>

namespace holdfast::tunnel {

namespace {

// Takes texts as long as they fit.
class Room {
 public:
  bool take(size_t bytes) {
    if (bytes > kMaxExposedBytes - used_) return false;
    used_ += bytes;
    return true;
  }

 private:
  size_t used_ = 0;
};

bool fits(const std::string& text) {
  return text.size() <= kMaxExposedText;
}

}  // namespace

route::AgentFacts facts_of(const CertifiedAgent& identity, const v1::Exposed& exposed) {
  route::AgentFacts facts{.name = identity.name, .zone = identity.zone};
  Room room;
  for (const v1::ExposedService& service : exposed.services()) {
    if (facts.healthy.size() == kMaxExposedServices) break;
    if (!service.healthy() || !fits(service.service())) continue;
    if (room.take(service.service().size())) facts.healthy.push_back(service.service());
  }
  std::ranges::sort(facts.healthy);
  // In order of name, so that every proxy leaves out the same ones.
  const route::Labels labels(exposed.labels().begin(), exposed.labels().end());
  for (const auto& [name, value] : labels) {
    if (facts.labels.size() == kMaxExposedLabels) break;
    if (!fits(name) || !fits(value)) continue;
    if (room.take(name.size() + value.size())) facts.labels.emplace(name, value);
  }
  return facts;
}

v1::HeldAgent to_held(const route::AgentFacts& facts) {
  v1::HeldAgent held;
  held.set_name(facts.name);
  held.set_zone(facts.zone);
  for (const std::string& service : facts.healthy) {
    v1::ExposedService& exposed = *held.mutable_exposed()->add_services();
    exposed.set_service(service);
    exposed.set_healthy(true);
  }
  held.mutable_exposed()->mutable_labels()->insert(facts.labels.begin(), facts.labels.end());
  return held;
}

}  // namespace holdfast::tunnel

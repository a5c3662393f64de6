#include "track/model.h"

#include <algorithm>

#include "base/check.h"
#include "track/alias_table.h"

namespace holdfast::track {
namespace {

template <typename K, typename V>
MapWrite put(MapName map, const K& key, const V& value) {
  return {.map = map, .key = to_bytes(key), .value = to_bytes(value)};
}

template <typename K>
MapWrite removal(MapName map, const K& key) {
  return {.map = map, .key = to_bytes(key)};
}

bool same(const hf_plan& one, const hf_plan& other) {
  return std::memcmp(&one, &other, sizeof(hf_plan)) == 0;
}

bool same(const std::vector<hf_slot>& one, const std::vector<hf_slot>& other) {
  return std::ranges::equal(one, other, [](const hf_slot& left, const hf_slot& right) {
    return std::memcmp(&left, &right, sizeof(hf_slot)) == 0;
  });
}

BackendIds::Who who_is(const hf_slot& slot) {
  return {slot.service, slot.address, slot.port};
}

}  // namespace

// The writes of one round, by when they are made.
struct Model::Round {
  Changes changes{};
  std::vector<MapWrite> first{};  // what nothing points to yet
  std::vector<MapWrite> plans{};  // what points to it
  std::vector<MapWrite> vips{};   // what points to plans
  std::vector<MapWrite> last{};   // what nothing points to any more

  Changes finish() {
    for (auto* part : {&first, &plans, &vips, &last}) {
      std::ranges::move(*part, std::back_inserter(changes.writes));
    }
    return std::move(changes);
  }
};

Model::Model(Sizes sizes, const Snapshot& present)
    : sizes_(sizes),
      service_ids_(sizes.services),
      backend_ids_(sizes.backends),
      slot_ranges_(sizes.slots),
      counters_(present.counters) {
  for (const auto& [id, health] : present.health) {
    backend_ids_.saw_generation(id, health.generation);
  }
  // A number with counters is somebody's even if the VIP was lost on the way.
  for (const Key& key : counters_) service_ids_.take(key.service);
  for (const auto& [vip, service] : present.services) adopt(vip, service, present);
}

void Model::adopt(const Vip& vip, const hf_service& service, const Snapshot& present) {
  Known known{.id = service.service, .retired = (service.flags & HF_SERVICE_RETIRED) != 0};
  service_ids_.take(known.id);
  if (const auto plan = present.plans.find(known.id); plan != present.plans.end()) {
    known.plan = plan->second;
  }
  for (const hf_zone& zone : std::span(known.plan.zones).first(known.plan.zone_count)) {
    slot_ranges_.take(zone.first_slot, zone.slot_count);
    for (uint32_t i = zone.first_slot; i < zone.first_slot + zone.slot_count; ++i) {
      const auto slot = present.slots.find(i);
      if (slot == present.slots.end()) continue;
      known.slots[zone.zone].push_back(slot->second);
      backend_ids_.take(who_is(slot->second), slot->second.backend);
    }
  }
  vips_[known.id] = vip;
  known_.emplace(vip, std::move(known));
}

Changes Model::reconcile(const std::vector<ServiceSpec>& wanted, const std::set<Key>& busy) {
  Round round;
  service_ids_.next_round();
  backend_ids_.next_round();
  slot_ranges_.next_round();
  std::set<Vip> named;
  for (const ServiceSpec& spec : wanted) named.insert(spec.vip);
  for (auto it = known_.begin(); it != known_.end();) {
    auto current = it++;
    if (named.contains(current->first)) continue;
    retire(current->first, current->second, round);
    if (is_busy(current->second.id, busy)) continue;
    remove(current->first, current->second, round);
    known_.erase(current);
  }
  remove_orphans(busy, round);
  for (const ServiceSpec& spec : wanted) {
    if (named.erase(spec.vip) == 1) want(spec, round);  // of two with one VIP, the first
  }
  return round.finish();
}

const Vip* Model::vip_of(uint16_t service) const {
  const auto found = vips_.find(service);
  return found == vips_.end() ? nullptr : &found->second;
}

std::optional<uint16_t> Model::id_of(const Vip& vip) const {
  const auto found = known_.find(vip);
  if (found == known_.end() || found->second.retired) return std::nullopt;
  return found->second.id;
}

std::map<uint32_t, KnownBackend> Model::backends() const {
  std::map<uint32_t, KnownBackend> found;
  for (const auto& [vip, known] : known_) {
    for (const auto& [zone, slots] : known.slots) {
      for (const hf_slot& slot : slots) {
        const Endpoint at{.address = slot.address, .port = swap_port(slot.port)};
        found[slot.backend] = {.vip = vip, .at = at, .zone = zone};
      }
    }
  }
  return found;
}

size_t Model::service_count() const {
  return static_cast<size_t>(
      std::ranges::count_if(known_, [](const auto& one) { return !one.second.retired; }));
}

bool Model::has_leftovers() const {
  return service_count() != known_.size() || std::ranges::any_of(counters_, [this](const Key& key) {
           return !vips_.contains(key.service);
         });
}

void Model::want(const ServiceSpec& spec, Round& round) {
  auto found = known_.find(spec.vip);
  const bool is_new = found == known_.end();
  if (is_new) {
    const std::optional<uint16_t> id = service_ids_.give();
    if (!id) {
      round.changes.services_left_out += 1;
      return;
    }
    found = known_.emplace(spec.vip, Known{.id = *id}).first;
    vips_[*id] = spec.vip;
  }
  Known& known = found->second;
  const Known before = known;
  const auto backends = by_zone(spec, round);
  known.plan = hf_plan{.lease_end_ns = spec.lease_end_ns,
                       .service = known.id,
                       .when_full = static_cast<uint8_t>(spec.when_full)};
  known.slots.clear();
  for (const uint8_t zone : zones_in_order(spec, backends, round)) {
    const auto slots = slots_of(known.id, zone, backends.at(zone), round);
    if (slots.empty()) continue;
    const auto old = before.slots.find(zone);
    const std::span old_zones = std::span(before.plan.zones).first(before.plan.zone_count);
    const auto old_zone = std::ranges::find(old_zones, zone, &hf_zone::zone);
    hf_zone& entry = known.plan.zones[known.plan.zone_count++];
    const auto limit = spec.limits.find(zone);
    const Limit limits = limit == spec.limits.end() ? Limit{} : limit->second;
    entry = {.limit = limits.leased, .static_limit = limits.fixed, .zone = zone};
    if (old != before.slots.end() && old_zone != old_zones.end() && same(old->second, slots)) {
      entry.first_slot = old_zone->first_slot;
      entry.slot_count = old_zone->slot_count;
      known.slots[zone] = slots;
    } else if (!place(known, zone, slots, round)) {
      known.plan.zone_count -= 1;
    }
  }
  if (!same(before.plan, known.plan)) {
    round.plans.push_back(put(MapName::Plans, uint32_t{known.id}, known.plan));
  }
  if (is_new || known.retired) {
    known.retired = false;
    round.vips.push_back(put(MapName::Services, spec.vip, hf_service{.service = known.id}));
  }
  drop_backends(before, known, round);
}

void Model::retire(const Vip& vip, Known& known, Round& round) {
  if (known.retired) return;
  const Known before = known;
  known.retired = true;
  known.plan = hf_plan{.service = known.id};
  known.slots.clear();
  const hf_service entry{.service = known.id, .flags = HF_SERVICE_RETIRED};
  round.first.push_back(put(MapName::Services, vip, entry));
  round.plans.push_back(put(MapName::Plans, uint32_t{known.id}, known.plan));
  drop_backends(before, known, round);
}

bool Model::is_busy(uint16_t id, const std::set<Key>& busy) const {
  return std::ranges::any_of(busy, [id](const Key& key) { return key.service == id; });
}

void Model::remove(const Vip& vip, const Known& known, Round& round) {
  round.last.push_back(removal(MapName::Services, vip));
  remove_counters(known.id, round);
  vips_.erase(known.id);
  service_ids_.give_back(known.id);
}

void Model::remove_counters(uint16_t id, Round& round) {
  std::erase_if(counters_, [&](const Key& key) {
    if (key.service != id) return false;
    for (const MapName map : {MapName::Counters, MapName::Failures, MapName::Reserved}) {
      round.last.push_back(removal(map, key));
    }
    round.changes.forgotten.push_back(key);
    return true;
  });
}

// Counters without a VIP: an agent died while it removed or made them.
void Model::remove_orphans(const std::set<Key>& busy, Round& round) {
  std::set<uint16_t> orphans;
  for (const Key& key : counters_) {
    if (!vips_.contains(key.service)) orphans.insert(key.service);
  }
  for (const uint16_t id : orphans) {
    if (is_busy(id, busy)) continue;
    remove_counters(id, round);
    service_ids_.give_back(id);
  }
}

std::map<uint8_t, std::vector<Backend>> Model::by_zone(const ServiceSpec& spec,
                                                       Round& round) const {
  std::map<uint8_t, std::vector<Backend>> zones;
  const bool ipv4 = is_ipv4(spec.vip.address);
  for (const Backend& backend : spec.backends) {
    if (backend.weight == 0) continue;
    auto& zone = zones[backend.zone];
    const bool twice = std::ranges::find(zone, backend.at, &Backend::at) != zone.end();
    if (is_ipv4(backend.at.address) != ipv4 || zone.size() == HF_BACKENDS_PER_ZONE || twice) {
      round.changes.backends_left_out += 1;
    } else {
      zone.push_back(backend);
    }
  }
  std::erase_if(zones, [](const auto& zone) { return zone.second.empty(); });
  // The same table whatever order they are told in.
  for (auto& [id, zone] : zones) {
    std::ranges::sort(zone, [](const Backend& left, const Backend& right) {
      return std::tie(left.at.address, left.at.port) < std::tie(right.at.address, right.at.port);
    });
  }
  return zones;
}

std::vector<uint8_t> Model::zones_in_order(const ServiceSpec& spec,
                                           const std::map<uint8_t, std::vector<Backend>>& backends,
                                           Round& round) const {
  std::vector<uint8_t> order;
  const auto add = [&](uint8_t zone) {
    if (backends.contains(zone) && std::ranges::find(order, zone) == order.end()) {
      order.push_back(zone);
    }
  };
  for (const uint8_t zone : spec.zone_order) add(zone);
  for (const auto& [zone, list] : backends) {
    if (zone != 0) add(zone);
  }
  add(0);
  if (order.size() > HF_ZONES_PER_SERVICE) {
    round.changes.zones_left_out += order.size() - HF_ZONES_PER_SERVICE;
    order.resize(HF_ZONES_PER_SERVICE);
  }
  return order;
}

std::vector<hf_slot> Model::slots_of(uint16_t id, uint8_t zone,
                                     const std::vector<Backend>& backends, Round& round) {
  std::vector<hf_slot> slots;
  std::vector<uint32_t> weights;
  for (const Backend& backend : backends) {
    hf_slot slot{.address = backend.at.address,
                 .port = swap_port(backend.at.port),
                 .service = id,
                 .zone = zone};
    const auto given = backend_ids_.give(who_is(slot));
    if (!given) {
      round.changes.backends_left_out += 1;
      continue;
    }
    if (given->is_new) {
      const hf_health health{.generation = given->generation};
      round.first.push_back(put(MapName::Health, given->id, health));
    }
    slot.backend = given->id;
    slots.push_back(slot);
    weights.push_back(backend.weight);
  }
  if (slots.empty()) return slots;
  const std::vector<AliasColumn> columns = make_alias_table(weights);
  for (size_t i = 0; i < slots.size(); ++i) {
    slots[i].threshold = columns[i].threshold;
    slots[i].alias = columns[i].alias;
  }
  return slots;
}

// A range of slots for the plan's last zone, and its counters. False: there is no room.
bool Model::place(Known& known, uint8_t zone, const std::vector<hf_slot>& slots, Round& round) {
  hf_zone& entry = known.plan.zones[known.plan.zone_count - 1];
  const auto count = static_cast<uint32_t>(slots.size());
  const Key key = make_key(known.id, zone);
  const auto first = slot_ranges_.give(count);
  if (!first || !ensure_counters(key, round)) {
    if (first) slot_ranges_.give_back(*first, count);
    round.changes.backends_left_out += count;
    entry = {};
    return false;
  }
  entry.first_slot = *first;
  entry.slot_count = static_cast<uint16_t>(count);
  for (uint32_t i = 0; i < count; ++i) {
    round.first.push_back(put(MapName::Slots, *first + i, slots[i]));
  }
  known.slots[zone] = slots;
  return true;
}

bool Model::ensure_counters(const Key& key, Round& round) {
  if (key.zone == 0 || counters_.contains(key)) return true;
  if (counters_.size() >= sizes_.counters) return false;
  counters_.insert(key);
  const auto absent = [&](MapWrite write) {
    write.only_if_absent = true;
    round.first.push_back(std::move(write));
  };
  absent(put(MapName::Counters, key, hf_counts{}));
  absent(put(MapName::Failures, key, hf_failures{}));
  absent(put(MapName::Reserved, key, uint32_t{0}));
  return true;
}

// What the new plan does not use any more: ranges rest, and backends are marked as gone.
void Model::drop_backends(const Known& before, const Known& after, Round& round) {
  const std::span zones = std::span(after.plan.zones).first(after.plan.zone_count);
  for (const hf_zone& old : std::span(before.plan.zones).first(before.plan.zone_count)) {
    const bool kept = std::ranges::any_of(zones, [&](const hf_zone& zone) {
      return zone.slot_count > 0 && zone.first_slot == old.first_slot;
    });
    if (!kept) slot_ranges_.give_back(old.first_slot, old.slot_count);
  }
  std::set<BackendIds::Who> used;
  for (const auto& [zone, slots] : after.slots) {
    for (const hf_slot& slot : slots) used.insert(who_is(slot));
  }
  for (const auto& [zone, slots] : before.slots) {
    for (const hf_slot& slot : slots) {
      if (used.contains(who_is(slot))) continue;
      const auto gone = backend_ids_.give_back(who_is(slot));
      if (!gone) continue;
      const hf_health health{.generation = gone->generation};
      round.last.push_back(put(MapName::Health, gone->id, health));
    }
  }
}

}  // namespace holdfast::track

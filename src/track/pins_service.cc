#include "track/pins_service.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>

#include <array>
#include <cerrno>

#include "base/reason.h"
#include "track/bpf_loader.h"

namespace holdfast::track {
namespace {

constexpr std::array kMapNames = {"hf_services", "hf_plans",    "hf_slots",   "hf_health",
                                  "hf_counters", "hf_failures", "hf_reserved"};
constexpr uint32_t kZero = 0;

Status failed(std::string_view doing) {
  return coded(absl::ErrnoToStatusCode(errno), "HF8109",
               fmt::format("{}: {}", doing, std::strerror(errno)));
}

Status open_pin(const std::string& directory, std::string_view name, Descriptor& descriptor) {
  const std::string path = fmt::format("{}/{}", directory, name);
  descriptor = Descriptor(bpf_obj_get(path.c_str()));
  if (descriptor.is_open()) return absl::OkStatus();
  return coded(absl::ErrnoToStatusCode(errno), "HF8108",
               fmt::format("opening {}: {}", path, std::strerror(errno)));
}

bpf_map_info info_of(const Descriptor& map) {
  bpf_map_info info{};
  uint32_t length = sizeof(info);
  if (bpf_obj_get_info_by_fd(map.get(), &info, &length) != 0) return {};
  return info;
}

uint32_t entries_of(const Descriptor& map) {
  return info_of(map).max_entries;
}

// Of the cgroup that the link is attached to; 0: to none.
uint64_t cgroup_of(const Descriptor& link) {
  bpf_link_info info{};
  uint32_t length = sizeof(info);
  if (bpf_obj_get_info_by_fd(link.get(), &info, &length) != 0) return 0;
  return info.cgroup.cgroup_id;
}

// Every key of a hash, then each value on its own: a key that goes meanwhile is left out.
template <typename K, typename V, typename F>
Status for_each(int map, const F& each) {
  std::vector<K> keys;
  K key{};
  for (const void* before = nullptr; bpf_map_get_next_key(map, before, &key) == 0; before = &key) {
    keys.push_back(key);
    // A key that is removed while this walks starts it anew: bounded all the same.
    if (keys.size() > (1U << 20)) return absl::ResourceExhaustedError("a map changes too fast");
  }
  if (errno != ENOENT) return failed("listing a map");
  for (const K& found : keys) {
    V value{};
    if (bpf_map_lookup_elem(map, &found, &value) == 0) each(found, value);
  }
  return absl::OkStatus();
}

}  // namespace

Result<std::unique_ptr<Pins>> Pins::open(const std::string& directory) {
  libbpf_set_print([](libbpf_print_level, const char*, va_list) { return 0; });
  std::unique_ptr<Pins> pins(new Pins(directory));
  for (const char* name : kMapNames) {
    TRY_OK(open_pin(directory, name, pins->maps_.emplace_back()));
  }
  TRY_OK(open_pin(directory, "hf_settings", pins->settings_));
  TRY_OK(open_pin(directory, "hf_stats", pins->stats_));
  TRY_OK(open_pin(directory, "link_hf_audit", pins->audit_));
  TRY_OK(open_pin(directory, "hf_mend", pins->mend_));
  TRY(const hf_settings settings, pins->settings());
  if (settings.layout != HF_LAYOUT) {
    return coded(absl::StatusCode::kFailedPrecondition, "HF8105",
                 fmt::format("the pins in {} have layout {}, this agent knows {}", directory,
                             settings.layout, HF_LAYOUT));
  }
  pins->sizes_ = {
      .services = entries_of(pins->maps_[static_cast<size_t>(MapName::Plans)]),
      .slots = entries_of(pins->maps_[static_cast<size_t>(MapName::Slots)]),
      .backends = entries_of(pins->maps_[static_cast<size_t>(MapName::Health)]),
      .counters = entries_of(pins->maps_[static_cast<size_t>(MapName::Counters)]),
  };
  return pins;
}

uint32_t Pins::maps_id() const {
  return info_of(maps_[static_cast<size_t>(MapName::Counters)]).id;
}

Status Pins::still_there() const {
  Descriptor counters;
  TRY_OK(open_pin(directory_, kMapNames[static_cast<size_t>(MapName::Counters)], counters));
  if (info_of(counters).id != maps_id()) {
    return coded(absl::StatusCode::kAborted, "HF8108",
                 fmt::format("the programs in {} were loaded anew", directory_));
  }
  return absl::OkStatus();
}

Status Pins::attached() const {
  for (const char* name : kAttached) {
    Descriptor link;
    const Status opened = open_pin(directory_, fmt::format("link_{}", name), link);
    if (opened.ok() && cgroup_of(link) != 0) continue;
    return coded(absl::StatusCode::kFailedPrecondition, "HF8110",
                 fmt::format("{} of {} is attached to no cgroup", name, directory_));
  }
  return absl::OkStatus();
}

Result<Snapshot> Pins::read() const {
  Snapshot snapshot;
  TRY_OK((for_each<hf_vip, hf_service>(
      map(MapName::Services),
      [&](const hf_vip& vip, const hf_service& service) { snapshot.services[vip] = service; })));
  TRY_OK((for_each<hf_key, hf_counts>(
      map(MapName::Counters),
      [&](const hf_key& key, const hf_counts&) { snapshot.counters.insert(key); })));
  for (const auto& [vip, service] : snapshot.services) {
    const uint32_t id = service.service;
    hf_plan plan{};
    if (bpf_map_lookup_elem(map(MapName::Plans), &id, &plan) != 0) return failed("reading a plan");
    plan.zone_count = std::min<uint8_t>(plan.zone_count, HF_ZONES_PER_SERVICE);
    snapshot.plans[id] = plan;
    for (const hf_zone& zone : std::span(plan.zones).first(plan.zone_count)) {
      for (uint32_t i = zone.first_slot; i < zone.first_slot + zone.slot_count; ++i) {
        hf_slot slot{};
        if (bpf_map_lookup_elem(map(MapName::Slots), &i, &slot) == 0) snapshot.slots[i] = slot;
      }
    }
  }
  for (uint32_t id = 1; id < sizes_.backends; ++id) {
    hf_health found{};
    if (bpf_map_lookup_elem(map(MapName::Health), &id, &found) != 0)
      return failed("reading health");
    if (found.generation != 0) snapshot.health[id] = found;
  }
  return snapshot;
}

Status Pins::apply(std::span<const MapWrite> writes) const {
  for (const MapWrite& write : writes) {
    const int fd = map(write.map);
    if (!write.value) {
      if (bpf_map_delete_elem(fd, write.key.data()) != 0 && errno != ENOENT) {
        return failed("removing from a map");
      }
      continue;
    }
    const uint64_t flags = write.only_if_absent ? BPF_NOEXIST : BPF_ANY;
    if (bpf_map_update_elem(fd, write.key.data(), write.value->data(), flags) == 0) continue;
    if (write.only_if_absent && errno == EEXIST) continue;
    return failed(fmt::format("writing to {}", kMapNames[static_cast<size_t>(write.map)]));
  }
  return absl::OkStatus();
}

Result<std::vector<CounterSample>> Pins::counters() const {
  std::vector<CounterSample> samples;
  TRY_OK((for_each<hf_key, hf_counts>(
      map(MapName::Counters), [&](const hf_key& key, const hf_counts& counts) {
        CounterSample sample{.key = key, .counts = counts};
        bpf_map_lookup_elem(map(MapName::Failures), &key, &sample.failures);
        bpf_map_lookup_elem(map(MapName::Reserved), &key, &sample.reserved);
        samples.push_back(sample);
      })));
  return samples;
}

Result<std::vector<hf_live>> Pins::alive() const {
  const Descriptor listing(bpf_iter_create(audit_.get()));
  if (!listing.is_open()) return failed("listing the sockets");
  std::string bytes;
  std::array<char, 65536> part{};
  for (;;) {
    const ssize_t got = ::read(listing.get(), part.data(), part.size());
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got < 0) return failed("reading the sockets");
    if (got == 0) break;
    bytes.append(part.data(), static_cast<size_t>(got));
  }
  std::vector<hf_live> flows;
  for (size_t at = 0; at + sizeof(hf_live) <= bytes.size(); at += sizeof(hf_live)) {
    flows.push_back(from_bytes<hf_live>(std::string_view(bytes).substr(at)));
  }
  return flows;
}

Status Pins::mend(const hf_repair& repair) const {
  hf_repair context = repair;
  LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &context, .ctx_size_in = sizeof(context), );
  if (bpf_prog_test_run_opts(mend_.get(), &opts) != 0) return failed("repairing a counter");
  return absl::OkStatus();
}

Result<Pins::Audited> Pins::audit() const {
  TRY(const auto before, counters());
  TRY(const auto flows, alive());
  TRY(const auto after, counters());
  Audited audited{.drifts = find_drift(before, flows, after), .flows = flows.size()};
  for (const Drift& drift : audited.drifts) TRY_OK(mend(repair_of(drift)));
  return audited;
}

Result<hf_stats> Pins::stats() const {
  hf_stats stats{};
  if (bpf_map_lookup_elem(stats_.get(), &kZero, &stats) != 0) return failed("reading the stats");
  return stats;
}

Result<hf_settings> Pins::settings() const {
  hf_settings settings{};
  if (bpf_map_lookup_elem(settings_.get(), &kZero, &settings) != 0) {
    return failed("reading the settings");
  }
  return settings;
}

Status Pins::change_settings(const hf_settings& settings) const {
  if (bpf_map_update_elem(settings_.get(), &kZero, &settings, BPF_ANY) != 0) {
    return failed("writing the settings");
  }
  return absl::OkStatus();
}

Result<hf_health> Pins::health(uint32_t backend) const {
  hf_health found{};
  if (bpf_map_lookup_elem(map(MapName::Health), &backend, &found) != 0) {
    return failed("reading health");
  }
  return found;
}

}  // namespace holdfast::track

// Services, their backends and limits, as writes to the kernel's maps: what is wanted is compared
// with what is there, and only the difference is written, in an order in which the kernel never
// sees half of a change:
//
//   counters, health, slots ──► plan ──► VIP          a service appears, or its plan changes
//   VIP retired, plan emptied ──► ... ──► all removed  it goes when its last connection has ended
//
// Ids of services and backends are allocated here and live in the maps, so that they outlast the
// agent. Slots that are replaced are not used again before the round after.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "track/address.h"
#include "track/map_write.h"
#include "track/model_ids.h"

namespace holdfast::track {

enum class WhenFull : uint8_t { Reject = HF_FULL_REJECT, Overflow = HF_FULL_OVERFLOW };

struct Backend {
  Endpoint at{};
  uint8_t zone = 0;
  uint32_t weight = 1;  // 0: gets nothing
  bool operator==(const Backend&) const = default;
};

// Connections that this node may have to one zone of a service.
struct Limit {
  uint32_t leased = HF_UNLIMITED;
  uint32_t fixed = HF_UNLIMITED;  // once the lease has run out
  bool operator==(const Limit&) const = default;
};

// One VIP. A service with two of them, or with two ports, is two of these.
struct ServiceSpec {
  Vip vip{};
  std::vector<uint8_t> zone_order{};  // zones of backends that are not in it come after it
  std::vector<Backend> backends{};
  std::map<uint8_t, Limit> limits{};
  WhenFull when_full = WhenFull::Overflow;
  uint64_t lease_end_ns = 0;  // of the monotonic clock; 0: limits do not run out
};

// What the maps hold.
struct Snapshot {
  std::map<Vip, hf_service> services{};
  std::map<uint32_t, hf_plan> plans{};     // those in use
  std::map<uint32_t, hf_slot> slots{};     // those of the plans
  std::map<uint32_t, hf_health> health{};  // those that were ever given away
  std::set<Key> counters{};
};

// How the maps were made.
struct Sizes {
  uint32_t services = 4096;
  uint32_t slots = 16384;
  uint32_t backends = 16384;
  uint32_t counters = 16384;
};

struct Changes {
  std::vector<MapWrite> writes{};  // in the order in which they are made
  uint64_t services_left_out = 0;  // the maps are full; existing services keep what they have
  uint64_t backends_left_out = 0;  // more than a zone, or the maps, take; or of another family
  uint64_t zones_left_out = 0;     // more than a service may have
  std::vector<Key> forgotten{};    // counters that are removed
};

// Who has a backend's number.
struct KnownBackend {
  Vip vip{};
  Endpoint at{};
  uint8_t zone = 0;
  bool operator==(const KnownBackend&) const = default;
};

class Model {
 public:
  Model(Sizes sizes, const Snapshot& present);

  // The writes from what is there to what is wanted. A service that is not wanted any more is
  // removed once no key of it is `busy` (has connections or places taken). Requires: the writes are
  // made before the next call; if they fail, a new model is made from the maps.
  Changes reconcile(const std::vector<ServiceSpec>& wanted, const std::set<Key>& busy);

  // Null if the id is nobody's.
  const Vip* vip_of(uint16_t service) const;
  std::optional<uint16_t> id_of(const Vip& vip) const;  // not of a retired one
  // Backends that connections may be sent to, by their numbers.
  std::map<uint32_t, KnownBackend> backends() const;
  size_t service_count() const;  // without retired ones
  // Something waits for its last connection to end: reconcile() has work though nothing changed.
  bool has_leftovers() const;

 private:
  struct Known {
    uint16_t id = 0;
    bool retired = false;
    hf_plan plan{};
    std::map<uint8_t, std::vector<hf_slot>> slots{};  // by zone
  };
  struct Round;

  void adopt(const Vip& vip, const hf_service& service, const Snapshot& present);
  void want(const ServiceSpec& spec, Round& round);
  void retire(const Vip& vip, Known& known, Round& round);
  bool is_busy(uint16_t id, const std::set<Key>& busy) const;
  void remove(const Vip& vip, const Known& known, Round& round);
  void remove_counters(uint16_t id, Round& round);
  void remove_orphans(const std::set<Key>& busy, Round& round);
  std::map<uint8_t, std::vector<Backend>> by_zone(const ServiceSpec& spec, Round& round) const;
  std::vector<uint8_t> zones_in_order(const ServiceSpec& spec,
                                      const std::map<uint8_t, std::vector<Backend>>& backends,
                                      Round& round) const;
  std::vector<hf_slot> slots_of(uint16_t id, uint8_t zone, const std::vector<Backend>& backends,
                                Round& round);
  bool place(Known& known, uint8_t zone, const std::vector<hf_slot>& slots, Round& round);
  bool ensure_counters(const Key& key, Round& round);
  void drop_backends(const Known& before, const Known& after, Round& round);

  const Sizes sizes_;
  ServiceIds service_ids_;
  BackendIds backend_ids_;
  SlotRanges slot_ranges_;
  std::map<Vip, Known> known_;
  std::map<uint16_t, Vip> vips_;
  std::set<Key> counters_;
};

}  // namespace holdfast::track

// Who has which number in the kernel's maps: services, backends, and ranges of slots. What is given
// back rests until the next round: within one, nothing is removed and made at the same number.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "track/address.h"

namespace holdfast::track {

// Numbers from 1, in turn, so that old and new are not mixed up in what people look at.
class ServiceIds {
 public:
  explicit ServiceIds(uint32_t size) : size_(std::min<uint32_t>(size, UINT16_MAX + 1U)) {}
  void take(uint16_t id) { taken_.insert(id); }
  std::optional<uint16_t> give();
  void give_back(uint16_t id) { resting_.push_back(id); }
  void next_round();

 private:
  uint32_t size_;
  uint32_t next_ = 1;
  std::set<uint16_t> taken_;
  std::vector<uint16_t> resting_;
};

// A backend of one service. Its generation is even while it has its number and changes when the
// number goes to another, so that sockets of the old one are not taken for sockets of the new.
class BackendIds {
 public:
  using Who = std::tuple<uint16_t, Address, uint16_t>;  // service, address, port in network order
  struct Given {
    uint32_t id = 0;
    bool is_new = false;
    uint32_t generation = 0;
  };

  explicit BackendIds(uint32_t size) : size_(size) {}
  void saw_generation(uint32_t id, uint32_t generation) { generations_[id] = generation; }
  void take(const Who& who, uint32_t id);
  std::optional<Given> give(const Who& who);
  // The generation of its number from now on. Nothing if it had none.
  std::optional<Given> give_back(const Who& who);
  void next_round();

 private:
  uint32_t size_;
  uint32_t next_ = 1;
  std::map<Who, uint32_t> ids_;
  std::set<uint32_t> taken_;
  std::vector<uint32_t> resting_;
  std::map<uint32_t, uint32_t> generations_;
};

// Ranges of the array of slots.
class SlotRanges {
 public:
  explicit SlotRanges(uint32_t size) { free_[0] = size; }
  void take(uint32_t first, uint32_t count);
  std::optional<uint32_t> give(uint32_t count);
  void give_back(uint32_t first, uint32_t count) { resting_.emplace_back(first, count); }
  void next_round();

 private:
  void join(uint32_t first, uint32_t count);

  std::map<uint32_t, uint32_t> free_;  // first, count
  std::vector<std::pair<uint32_t, uint32_t>> resting_;
};

}  // namespace holdfast::track

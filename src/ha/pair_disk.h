// A simulated disk: the few rules of store::Replica, on a log of small writes. What is in it is
// durable; what is on its way waits in the node's queue.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ha/shipping.h"
#include "store/replica.h"

namespace holdfast::ha::sim {

struct Write {
  Head head{};
  uint32_t key = 0;
  uint64_t value = 0;
  bool operator==(const Write&) const = default;
};

struct Disk {
  std::string store_id{};
  Epoch promised = 0;
  Head head{};
  store::Revision floor = 0;
  std::vector<store::Tenure> tenures{};
  std::vector<Write> log{};  // every revision above the first, also those below the floor
  bool own = false;          // its commits are its own, not another writer's

  bool begin_tenure(Epoch epoch);
  // False: it follows another writer.
  bool commit(uint32_t key, uint64_t value);
  enum class Appended : uint8_t { Yes, Elsewhere, Broken, Refused };
  Appended append(Epoch promise, const std::vector<Write>& writes);
  // False: below what is promised.
  bool replace(Epoch promise, const Disk& of);

  const Write* at(store::Revision revision) const;
  const Write* latest(uint32_t key) const;
  store::ReplicaFacts facts() const;
  History history() const { return {.head = head, .tenures = tenures}; }
};

}  // namespace holdfast::ha::sim

// A simulated disk: the few rules of store::Replica, on a log of small writes. What is in it is
// durable; what is on its way waits in the node's queue.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
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
  // Whose rows of the history are damaged. The items that a copy is made of are others.
  std::set<store::Revision> rotten{};

  bool begin_tenure(Epoch epoch);
  // Where it is in the history; what was written before is not written again. Nothing: this disk
  // follows another writer.
  std::optional<Head> commit(uint32_t key, uint64_t value, bool again = false);
  enum class Appended : uint8_t { Failed, Yes, Elsewhere, Broken, Refused };
  // All of it, or nothing.
  Appended append(Epoch promise, const std::vector<Write>& writes, bool checks_chain = true);
  // False: below what is promised.
  bool replace(Epoch promise, const Disk& of);

  const Write* at(store::Revision revision) const;
  // As it is read from the history, to be sent.
  Write entry(store::Revision revision) const;
  const Write* latest(uint32_t key) const;
  store::ReplicaFacts facts() const;
  History history() const { return {.head = head, .tenures = tenures}; }
};

}  // namespace holdfast::ha::sim

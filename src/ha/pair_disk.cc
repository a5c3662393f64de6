#include "ha/pair_disk.h"

#include <algorithm>
#include <functional>

namespace holdfast::ha::sim {
namespace {

constexpr store::Revision kFirst = store::kFirstRevision;

uint64_t mixed(uint64_t a, uint64_t b) {
  uint64_t hash = (a ^ (b + 0x9e3779b97f4a7c15 + (a << 6) + (a >> 2))) * 0xbf58476d1ce4e5b9;
  hash ^= hash >> 31;
  return hash == 0 ? 1 : hash;
}

}  // namespace

bool Disk::begin_tenure(Epoch epoch) {
  const Epoch last = tenures.empty() ? 0 : tenures.back().epoch;
  if (epoch < promised || epoch < last) return false;
  promised = epoch;
  own = true;
  if (epoch == last) return true;
  if (tenures.empty()) {
    tenures.push_back({epoch, head.revision});
    head.epoch = epoch;
    head.chain = mixed(std::hash<std::string>()(store_id), 7);
    return true;
  }
  if (tenures.back().first > head.revision) tenures.pop_back();  // it wrote nothing
  tenures.push_back({epoch, head.revision + 1});
  return true;
}

std::optional<Head> Disk::commit(uint32_t key, uint64_t value, bool again) {
  if (!own) return std::nullopt;
  const auto before = std::ranges::find(log.rbegin(), log.rend(), value, &Write::value);
  if (before != log.rend() && !again) return before->head;
  head.revision += 1;
  head.epoch = tenures.back().epoch;
  head.chain = mixed(mixed(head.chain, head.epoch), mixed(key, value));
  log.push_back({.head = head, .key = key, .value = value});
  return head;
}

Disk::Appended Disk::append(Epoch promise, const std::vector<Write>& writes, bool checks_chain) {
  if (promise < promised) return Appended::Refused;
  const bool fits =
      !tenures.empty() && (writes.empty() || writes.front().head.revision == head.revision + 1);
  if (!writes.empty() && !fits) return Appended::Elsewhere;
  uint64_t chain = head.chain;
  for (const Write& write : writes) {
    chain = mixed(mixed(chain, write.head.epoch), mixed(write.key, write.value));
    if (checks_chain && chain != write.head.chain) return Appended::Broken;
  }
  promised = promise;
  const bool follows = tenures.empty() || promise != tenures.back().epoch || !own;
  if (follows) own = false;
  for (const Write& write : writes) {
    if (tenures.back().first > head.revision && tenures.back().epoch != write.head.epoch) {
      tenures.pop_back();
    }
    if (tenures.empty() || tenures.back().epoch != write.head.epoch) {
      tenures.push_back({write.head.epoch, write.head.revision});
    }
    head = write.head;
    log.push_back(write);
  }
  return Appended::Yes;
}

bool Disk::replace(Epoch promise, const Disk& of) {
  if (promise < promised) return false;
  promised = promise;
  own = false;
  head = of.head;
  floor = of.head.revision;  // a copy has items, no history
  tenures = of.tenures;
  log = of.log;
  rotten.clear();
  return true;
}

const Write* Disk::at(store::Revision revision) const {
  if (revision <= kFirst || revision > head.revision) return nullptr;
  return &log[static_cast<size_t>(revision - kFirst - 1)];
}

Write Disk::entry(store::Revision revision) const {
  Write write = *at(revision);
  if (rotten.contains(revision)) write.value ^= 1;
  return write;
}

const Write* Disk::latest(uint32_t key) const {
  const auto found = std::ranges::find(log.rbegin(), log.rend(), key, &Write::key);
  return found == log.rend() ? nullptr : &*found;
}

store::ReplicaFacts Disk::facts() const {
  return {.store_id = store_id,
          .promised = promised,
          .head = head,
          .floor = floor,
          .tenures = tenures,
          .note = {}};
}

}  // namespace holdfast::ha::sim

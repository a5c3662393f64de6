#include "store/lineage.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/stable_hash.h"

namespace holdfast::store {
namespace {

uint64_t never_zero(uint64_t hash) {
  return hash == 0 ? 1 : hash;
}

// What the first tenure found: (epoch, revision) of this very store.
uint64_t first_chain(const std::string& store_id, Epoch epoch, Revision revision) {
  StableHash hash(0);
  hash.add(store_id).add(epoch).add(static_cast<uint64_t>(revision));
  return never_zero(hash.value());
}

Status check_epoch(Epoch epoch) {
  if (epoch > 0 && epoch <= kMaxEpoch) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("{} is no epoch of a tenure", epoch));
}

Status check_shape(const Entry& entry) {
  if (entry.changes.empty()) return absl::InvalidArgumentError("an entry without changes");
  for (const Change& change : entry.changes) {
    if (change.item.revision == entry.head.revision) continue;
    return absl::InvalidArgumentError(
        fmt::format("a change of revision {} in the entry of revision {}", change.item.revision,
                    entry.head.revision));
  }
  return absl::OkStatus();
}

}  // namespace

uint64_t chain_after(uint64_t previous, Epoch epoch, const std::vector<Change>& changes) {
  StableHash hash(previous);
  hash.add(epoch).add(uint64_t{changes.size()});
  for (const Change& change : changes) {
    const Item& item = change.item;
    hash.add(static_cast<uint64_t>(change.type)).add(static_cast<uint64_t>(item.revision));
    hash.add(item.key).add(item.value).add(static_cast<uint64_t>(item.created_revision));
    hash.add(uint64_t{item.expires.has_value()});
    if (item.expires) hash.add(static_cast<uint64_t>(item.expires->time_since_epoch().count()));
  }
  return never_zero(hash.value());
}

Epoch epoch_of(const std::vector<Tenure>& tenures, Revision revision) {
  const auto next = std::ranges::upper_bound(tenures, revision, {}, &Tenure::first);
  return next == tenures.begin() ? 0 : std::prev(next)->epoch;
}

Revision agreed_through(const ReplicaFacts& one, const ReplicaFacts& other) {
  const auto last_of = [](const ReplicaFacts& facts, std::vector<Tenure>::const_iterator tenure) {
    const auto next = std::next(tenure);
    return next == facts.tenures.end() ? facts.head.revision : next->first - 1;
  };
  Revision agreed = 0;
  for (auto mine = one.tenures.begin(); mine != one.tenures.end(); ++mine) {
    const auto theirs = std::ranges::find(other.tenures, *mine);
    if (theirs == other.tenures.end()) continue;
    const Revision last = std::min(last_of(one, mine), last_of(other, theirs));
    if (last >= mine->first) agreed = std::max(agreed, last);
  }
  return agreed;
}

bool continues(const ReplicaFacts& facts, const Head& behind) {
  if (behind.revision == facts.head.revision) return behind == facts.head && behind.epoch != 0;
  return behind.epoch != 0 && behind.revision >= facts.floor &&
         behind.revision < facts.head.revision &&
         epoch_of(facts.tenures, behind.revision) == behind.epoch;
}

Status Lineage::may_commit() const {
  if (!following_) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("this store follows another writer, up to epoch {}", facts_.promised));
}

Status Lineage::may_begin(Epoch epoch) const {
  TRY_OK(check_epoch(epoch));
  TRY_OK(may_promise(epoch));
  if (facts_.tenures.empty() || epoch >= facts_.tenures.back().epoch) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("epoch {} is over, the last tenure's is {}", epoch, facts_.tenures.back().epoch));
}

Status Lineage::may_promise(Epoch epoch) const {
  TRY_OK(check_epoch(epoch));
  if (epoch >= facts_.promised) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("epoch {} is over, {} is promised", epoch, facts_.promised));
}

Status Lineage::may_append(Epoch promise, const std::vector<Entry>& entries) const {
  TRY_OK(may_promise(promise));
  if (entries.empty()) return absl::OkStatus();
  if (facts_.tenures.empty()) {
    return absl::FailedPreconditionError("this store has no tenure yet: it needs a whole copy");
  }
  Head head = facts_.head;
  for (const Entry& entry : entries) {
    TRY_OK(check_shape(entry));
    if (entry.head.epoch > promise) {
      return absl::InvalidArgumentError(
          fmt::format("an entry of epoch {} by a writer of epoch {}", entry.head.epoch, promise));
    }
    if (entry.head.revision != head.revision + 1 || entry.head.epoch < head.epoch) {
      return absl::FailedPreconditionError(
          fmt::format("revision {} of epoch {} does not continue revision {} of epoch {}",
                      entry.head.revision, entry.head.epoch, head.revision, head.epoch));
    }
    if (entry.head.chain != chain_after(head.chain, entry.head.epoch, entry.changes)) {
      return absl::DataLossError(fmt::format(
          "the chain of revision {} is not what the entries before it give", entry.head.revision));
    }
    head = entry.head;
  }
  return absl::OkStatus();
}

Status Lineage::may_replace(const ReplicaFacts& of, Epoch promise) const {
  TRY_OK(may_promise(promise));
  if (of.tenures.back().epoch <= promise) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("a copy of epoch {} by a writer of epoch {}", of.tenures.back().epoch, promise));
}

Head Lineage::next(const std::vector<Change>& changes) const {
  Head head{.epoch = 0, .revision = facts_.head.revision + 1, .chain = 0};
  if (facts_.tenures.empty()) return head;
  head.epoch = facts_.tenures.back().epoch;
  head.chain = chain_after(facts_.head.chain, head.epoch, changes);
  return head;
}

void Lineage::begin(Epoch epoch) {
  following_ = false;
  facts_.promised = epoch;
  std::vector<Tenure>& tenures = facts_.tenures;
  if (tenures.empty()) {
    Head& head = facts_.head;
    head.epoch = epoch;
    head.chain = first_chain(facts_.store_id, epoch, head.revision);
    tenures.push_back({.epoch = epoch, .first = head.revision});
    return;
  }
  if (tenures.back().epoch == epoch) return;
  const Revision first = facts_.head.revision + 1;
  if (tenures.back().first == first) tenures.pop_back();
  tenures.push_back({.epoch = epoch, .first = first});
}

void Lineage::promise(Epoch epoch) {
  facts_.promised = std::max(facts_.promised, epoch);
  const Epoch last = facts_.tenures.empty() ? 0 : facts_.tenures.back().epoch;
  if (facts_.promised > last) following_ = true;
}

void Lineage::append(Epoch promise, const std::vector<Entry>& entries) {
  std::vector<Tenure>& tenures = facts_.tenures;
  for (const Entry& entry : entries) {
    const Tenure own{.epoch = entry.head.epoch, .first = entry.head.revision};
    // A tenure that was begun here and wrote nothing never was.
    if (tenures.back().first == own.first && tenures.back() != own) tenures.pop_back();
    if (tenures.back().epoch < own.epoch) tenures.push_back(own);
    facts_.head = entry.head;
    following_ = true;
  }
  this->promise(promise);
}

void Lineage::replace(const ReplicaFacts& of, Epoch promise) {
  facts_.head = of.head;
  facts_.tenures = of.tenures;
  facts_.floor = 0;
  forget(of.head.revision);
  following_ = true;
  this->promise(promise);
}

void Lineage::forget(Revision floor) {
  facts_.floor = std::max(facts_.floor, std::min(floor, facts_.head.revision));
  std::vector<Tenure>& tenures = facts_.tenures;
  while (tenures.size() > 1 && tenures[1].first <= facts_.floor) tenures.erase(tenures.begin());
}

Status IncomingCopy::may_add(const CopyPage& page) const {
  if (whole_ || page.before != items_) {
    return absl::FailedPreconditionError(fmt::format(
        "a page of the copy is missing or came twice: {} items are there, it follows {}", items_,
        page.before));
  }
  const std::string* previous = &last_key_;
  for (const Item& item : page.items) {
    if (item.key <= *previous) {
      return absl::InvalidArgumentError("the items of a copy are not in order of key");
    }
    if (item.revision > of_.head.revision) {
      return absl::InvalidArgumentError("an item of the copy is newer than the copy");
    }
    previous = &item.key;
  }
  return absl::OkStatus();
}

void IncomingCopy::add(const CopyPage& page) {
  items_ += page.items.size();
  if (!page.items.empty()) last_key_ = page.items.back().key;
  whole_ = page.last;
}

Status IncomingCopy::may_finish() const {
  if (whole_) return absl::OkStatus();
  return absl::FailedPreconditionError("the copy is not whole: its last page is missing");
}

Status may_read_entries(const ReplicaFacts& facts, Revision after) {
  if (after > facts.head.revision) {
    return absl::OutOfRangeError(fmt::format("revision {} is in the future; the store is at {}",
                                             after, facts.head.revision));
  }
  if (facts.tenures.empty() || after < facts.tenures.front().first) {
    return absl::OutOfRangeError(
        fmt::format("what follows revision {} was written before the first tenure", after));
  }
  if (after >= facts.floor) return absl::OkStatus();
  return absl::OutOfRangeError(fmt::format(
      "compacted: entries after revision {} are kept, not those after {}", facts.floor, after));
}

Status check_copy(const ReplicaFacts& of) {
  const auto& tenures = of.tenures;
  const bool ordered = std::ranges::is_sorted(tenures, {}, &Tenure::epoch) &&
                       std::ranges::is_sorted(tenures, {}, &Tenure::first);
  if (tenures.empty() || !ordered || of.head.chain == 0 || of.head.epoch == 0 ||
      of.head.revision < kFirstRevision || epoch_of(tenures, of.head.revision) != of.head.epoch) {
    return absl::InvalidArgumentError("the facts of a copy are not those of a store with a tenure");
  }
  return check_epoch(tenures.back().epoch);
}

Status check_note(const std::string& note) {
  if (note.size() <= kMaxNoteBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("a note of {} bytes, the limit is {}", note.size(), kMaxNoteBytes));
}

}  // namespace holdfast::store

// Which history a store holds and what may continue it: the rules of replica.h without a disk,
// shared by the stores that keep them. A store asks may_...(), makes the change durable, then tells
// the lineage; or tells it first and restores a copy of it if the disk fails.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/replica.h"

namespace holdfast::store {

// The chain after an entry that follows `previous`; never 0.
uint64_t chain_after(uint64_t previous, Epoch epoch, const std::vector<Change>& changes);

class Lineage {
 public:
  explicit Lineage(ReplicaFacts facts) : facts_(std::move(facts)) {}

  const ReplicaFacts& facts() const { return facts_; }
  const Head& head() const { return facts_.head; }

  // Why not, as replica.h says.
  Status may_commit() const;
  Status may_begin(Epoch epoch) const;
  Status may_promise(Epoch epoch) const;
  Status may_append(Epoch promise, const std::vector<Entry>& entries) const;
  Status may_replace(const ReplicaFacts& of, Epoch promise) const;

  // The head after a commit of these changes.
  Head next(const std::vector<Change>& changes) const;

  void commit(const Head& head) { facts_.head = head; }
  void begin(Epoch epoch);
  void promise(Epoch epoch);
  void note(std::string note) { facts_.note = std::move(note); }
  void append(Epoch promise, const std::vector<Entry>& entries);
  void replace(const ReplicaFacts& of, Epoch promise);
  // Forgets entries up to `floor`, and the tenures that are wholly below it.
  void forget(Revision floor);

 private:
  ReplicaFacts facts_;
  bool following_ = false;  // the last entry is another's, or a later writer was promised
};

// A copy that comes in, page by page.
class IncomingCopy {
 public:
  explicit IncomingCopy(ReplicaFacts of) : of_(std::move(of)) {}

  const ReplicaFacts& of() const { return of_; }
  Status may_add(const CopyPage& page) const;
  void add(const CopyPage& page);
  Status may_finish() const;

 private:
  ReplicaFacts of_;
  uint64_t items_ = 0;
  std::string last_key_;
  bool whole_ = false;
};

// Whether entries(after) can be answered; kOutOfRange.
Status may_read_entries(const ReplicaFacts& facts, Revision after);
// kInvalidArgument if a copy of a store with these facts could not be continued here.
Status check_copy(const ReplicaFacts& of);
Status check_note(const std::string& note);

}  // namespace holdfast::store

// What a store offers to whoever keeps a copy of it elsewhere: its history as a log that can be
// read and appended to, a whole copy, and the few numbers that say which history it is.
//
//   active:  commit() ──► entries(after) ──► the peer's append()      one entry per revision
//   new copy: copy() pages ──► begin_copy(), add_to_copy(), finish_copy()   replaces everything
//
// Every entry belongs to a tenure: the epoch of the controller that wrote it. Epochs never go back,
// and no two writers share one, so (epoch, revision) names an entry, and two histories that agree
// on one agree on all before it.
#pragma once

#include <boost/asio/awaitable.hpp>

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/store.h"

namespace holdfast::store {

using Epoch = uint64_t;  // 0: before the first tenure

// Where a history ends.
struct Head {
  Epoch epoch = 0;  // of the last entry
  Revision revision = kFirstRevision;
  uint64_t chain = 0;  // hash of every entry up to here; 0 before the first tenure
  auto operator<=>(const Head&) const = default;
};

// The revisions from `first` on were written in `epoch`, up to the next tenure's first.
struct Tenure {
  Epoch epoch = 0;
  Revision first = 0;
  bool operator==(const Tenure&) const = default;
};

struct Entry {
  Head head;                    // after it
  std::vector<Change> changes;  // never empty
  bool operator==(const Entry&) const = default;
};

// All that is durable and not an item.
struct ReplicaFacts {
  std::string store_id;  // 32 hex digits, drawn when the store was made; a copy keeps its own
  Epoch promised = 0;    // nothing of a lower epoch is taken any more
  Head head;
  Revision floor = 0;           // entries up to here are forgotten
  std::vector<Tenure> tenures;  // oldest first; those that are wholly below the floor but one go
  std::string note;             // the pair's own, at most 256 bytes: what it must know at its start
};

// The epoch in which `revision` was written, by `tenures`; 0 if before all of them.
Epoch epoch_of(const std::vector<Tenure>& tenures, Revision revision);

struct CopyPage {
  std::vector<Item> items;  // in order of key
  bool last = false;
};

// Belongs to the store's executor, like the store. Everything that changes is durable when it
// returns.
class Replica {
 public:
  virtual ~Replica() = default;

  // As of the last write that finished.
  virtual const ReplicaFacts& facts() const = 0;

  // Commits belong to this epoch from now on; also raises what is promised. kFailedPrecondition if
  // it is not above the last tenure's and what is promised, unless it is the last tenure's own.
  virtual asio::awaitable<Status> begin_tenure(Epoch epoch) = 0;
  // kFailedPrecondition below what is promised.
  virtual asio::awaitable<Status> promise(Epoch epoch) = 0;
  virtual asio::awaitable<Status> keep_note(std::string note) = 0;

  // Entries above `after`, oldest first: at least one if there is one, about `max_bytes` at most.
  // kOutOfRange: forgotten.
  virtual asio::awaitable<Result<std::vector<Entry>>> entries(Revision after, size_t max_bytes) = 0;

  // Continues the history: also of a higher epoch than the last, which begins a tenure here. The
  // promise is raised to `promise`. Nothing is applied unless all is. kFailedPrecondition: it is
  // below what is promised, or does not continue at head(). kDataLoss: a chain is not what the
  // entries before it give.
  virtual asio::awaitable<Result<Head>> append(Epoch promise, std::vector<Entry> entries) = 0;

  // A whole copy, as of one moment: facts first, then pages. One copy at a time; a second begin
  // ends the first. The snapshot costs the writer nothing.
  virtual asio::awaitable<Result<ReplicaFacts>> begin_reading() = 0;
  virtual asio::awaitable<Result<CopyPage>> read_page(size_t max_bytes) = 0;

  // Takes a copy in. The items wait beside the ones in use, on disk; finish_copy() replaces all
  // items, history, tenures and head at once, keeps the own store_id, and raises the promise.
  // Watches of before end with kOutOfRange. A copy that is begun again starts anew; one that is not
  // finished is forgotten at the next start.
  virtual asio::awaitable<Status> begin_copy(ReplicaFacts of) = 0;
  virtual asio::awaitable<Status> add_to_copy(std::vector<Item> items) = 0;
  virtual asio::awaitable<Result<Head>> finish_copy(Epoch promise) = 0;
};

}  // namespace holdfast::store

// What a store offers to whoever keeps a copy of it elsewhere: its history as a log that can be
// read and appended to, a whole copy, and the few numbers that say which history it is.
//
//   active:   commit() ──► entries(after) ──► the peer's append()       one entry per revision
//   new copy: begin_reading(), read_page() ──► begin_copy(), add_to_copy(), finish_copy()
//
// Every entry belongs to a tenure: the epoch of the controller that wrote it. Epochs never go back,
// and no two writers share one, so (epoch, revision) names an entry, and two histories that agree
// on one agree on all before it. What was written before the first tenure has no such name: it goes
// elsewhere as a whole copy only. A store that never had a tenure pays nothing for any of this.
#pragma once

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/store.h"

namespace holdfast::store {

using Epoch = uint64_t;  // 0: before the first tenure
inline constexpr Epoch kMaxEpoch = Epoch{1} << 62;
inline constexpr size_t kMaxNoteBytes = 256;

// Where a history ends. At its beginning the first tenure takes over what was there before: its
// epoch is the head's at once, and the chain starts with the store's id.
struct Head {
  Epoch epoch = 0;  // of the last entry
  Revision revision = kFirstRevision;
  uint64_t chain = 0;  // hash of every entry up to here; 0 before the first tenure, never after
  bool operator==(const Head&) const = default;
};

// The revisions from `first` on were written in `epoch`, up to the next tenure's first. The very
// first tenure's `first` is the revision that it found, which counts as its own.
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
  std::vector<Tenure> tenures;  // oldest first, from the one that the floor is in
  std::string note;  // the pair's own, at most kMaxNoteBytes: what it must know at its start
  bool operator==(const ReplicaFacts&) const = default;
};

// The epoch in which `revision` was written, by `tenures`; 0 if before all of them.
Epoch epoch_of(const std::vector<Tenure>& tenures, Revision revision);

// The last revision that both histories have in common, as far as their tenures tell; 0 if none.
// What either has above it, the other never had.
Revision agreed_through(const ReplicaFacts& one, const ReplicaFacts& other);

// True: who is at `behind` has a beginning of this history, and the entries after it are there.
bool continues(const ReplicaFacts& facts, const Head& behind);

struct CopyPage {
  uint64_t before = 0;      // items in the pages before it
  std::vector<Item> items;  // in order of key
  bool last = false;
  bool operator==(const CopyPage&) const = default;
};

// Belongs to the store's executor, like the store. Everything that changes is durable when it
// returns; what fails has changed nothing. kInvalidArgument: what came can never be taken.
class Replica {
 public:
  virtual ~Replica() = default;

  // As of the last write that finished.
  virtual const ReplicaFacts& facts() const = 0;
  // Why the last write did not get to the disk; OK again after one that did, and had something in
  // it.
  virtual Status disk() const = 0;
  // Called on the executor when writes have finished, before they are answered: the head may have
  // moved. One listener, which must not call back; an empty one ends it.
  virtual void on_written(std::move_only_function<void()> listener) = 0;

  // Commits belong to this epoch from now on; also raises what is promised. kFailedPrecondition:
  // it is below what is promised, or neither above the last tenure's epoch nor that one again. A
  // tenure that wrote nothing gives way to the next.
  //
  // After append(), finish_copy() or a promise above the last tenure, the store follows another
  // writer: its own commits and expiries are refused with kFailedPrecondition until this is called.
  virtual asio::awaitable<Status> begin_tenure(Epoch epoch) = 0;
  // kFailedPrecondition below what is promised.
  virtual asio::awaitable<Status> promise(Epoch epoch) = 0;
  virtual asio::awaitable<Status> keep_note(std::string note) = 0;

  // Entries above `after`, oldest first: at least one if there is one, about `max_bytes` at most.
  // kOutOfRange: forgotten, of before the first tenure, or of the future.
  virtual asio::awaitable<Result<std::vector<Entry>>> entries(Revision after, size_t max_bytes) = 0;

  // Continues the history: also of a higher epoch than the last, which begins a tenure here. The
  // promise is raised to `promise`, also by no entries. Nothing is applied unless all is.
  // kFailedPrecondition: it is below what is promised, or does not continue at the head, or the
  // store has no tenure yet (it needs a whole copy). kDataLoss: a chain is not what the entries
  // before it give.
  virtual asio::awaitable<Result<Head>> append(Epoch promise, std::vector<Entry> entries) = 0;

  // A whole copy, as of one moment: facts first, then pages of about `max_bytes`, until the last.
  // One copy at a time; a second begin ends the first. The snapshot costs the writer nothing, but
  // the disk keeps what was replaced since: end_reading() what is not read to its end. A snapshot
  // that holds too much of the disk is ended by the store: kResourceExhausted, begin again.
  virtual asio::awaitable<Result<ReplicaFacts>> begin_reading() = 0;
  virtual asio::awaitable<Result<CopyPage>> read_page(size_t max_bytes) = 0;
  virtual asio::awaitable<Status> end_reading() = 0;

  // Takes a copy in. The pages wait beside the items in use, on disk, and must come in their order
  // and up to the last (kFailedPrecondition); a page that fails ends the copy. finish_copy()
  // replaces all items, history, tenures and head at once, keeps the own store_id and note, and
  // raises the promise. Watches of before end with kOutOfRange. A copy that is begun again starts
  // anew; one that is not finished is forgotten at the next start.
  virtual asio::awaitable<Status> begin_copy(ReplicaFacts of) = 0;
  virtual asio::awaitable<Status> add_to_copy(CopyPage page) = 0;
  virtual asio::awaitable<Result<Head>> finish_copy(Epoch promise) = 0;

  // All of it as of now, in a file of its own: a store as this one is. `path` must not be there; it
  // is on disk when this returns OK, and not there at all otherwise. kUnimplemented: this one has
  // no file. Watches and reads wait meanwhile, writes do not.
  virtual asio::awaitable<Status> back_up(std::string path) = 0;
};

}  // namespace holdfast::store

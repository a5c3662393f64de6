// Many small writes as few commits: which wait, which go together, and when. Of two writes to one
// key only the later goes; two commits in flight never hold the same key, so none overtakes
// another. Computes only: the service commits what take() returns and says when it is done.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/clock.h"
#include "store/store.h"

namespace holdfast::api {

struct WriteBatchOptions {
  // A commit takes this much at most; etcd takes 128 operations and 1.5 MiB.
  size_t max_operations = 100;
  size_t max_bytes = 1 << 20;
  Duration max_delay = std::chrono::milliseconds(50);  // of a write, for others to join it
  size_t max_in_flight = 2;                            // commits
  size_t max_waiting = 16'384;                         // callers, in flight or not
};

class WriteBatches {
 public:
  using Ticket = uint64_t;  // a caller who waits
  struct Batch {
    std::vector<store::Operation> operations;
    std::vector<Ticket> tickets;
    std::vector<std::string> keys;
  };

  explicit WriteBatches(WriteBatchOptions options) : options_(options) {}

  // Absent: too many wait.
  std::optional<Ticket> add(store::Operation operation, Time now);
  // The caller no longer waits. A write that nobody waits for and that has not begun is forgotten.
  void drop(Ticket ticket);

  // The next commit, if one may begin now.
  std::optional<Batch> take(Time now);
  // When take() may have one without anything else happening.
  std::optional<Time> next_deadline() const;
  // A commit has ended, well or badly.
  void done(const Batch& batch);

  size_t waiting() const { return callers_.size(); }
  size_t in_flight() const { return in_flight_; }

 private:
  struct Write {
    store::Operation operation;
    std::vector<Ticket> tickets;
    Time since;
  };
  using Queue = std::list<Write>;

  bool may_go(const Write& write) const { return !keys_in_flight_.contains(write.operation.key); }
  bool is_full() const;

  WriteBatchOptions options_;
  Queue queue_;
  std::unordered_map<std::string, Queue::iterator> by_key_;
  std::unordered_map<Ticket, std::string> callers_;  // the key each waits for
  std::unordered_set<std::string> keys_in_flight_;
  size_t in_flight_ = 0;
  Ticket last_ticket_ = 0;
};

}  // namespace holdfast::api

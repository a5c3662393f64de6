// A key-value store with revisions: the truth everything else is derived from.
//
// Each commit takes one revision, one higher than the last commit that changed anything. Watchers
// see every change once, in order of revision, and can resume from any revision still kept.
//
//   commit(ops) ──► revision 41 ──► watch: [41: put /service/web] [42: delete /agent/e7] ...
//
// Three implementations keep this contract (store_contract.h): memory, SQLite, etcd. A store
// belongs to one executor; call it there, its coroutines resume there. Destroy it only when none of
// its coroutines is running.
#pragma once

#include <boost/asio/awaitable.hpp>

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace holdfast::store {

namespace asio = boost::asio;

using Revision = int64_t;
// Of a store that was never written: so that 0 is no store's revision, and "after 0" is everything.
inline constexpr Revision kFirstRevision = 1;

struct Item {
  std::string key;
  std::string value;
  Revision revision = 0;          // of the commit that wrote this value
  Revision created_revision = 0;  // of the commit that created the key
  std::optional<WallTime> expires;
  bool operator==(const Item&) const = default;
};

// What must hold of a key when its operation is applied, else nothing of the commit is.
enum class Precondition {
  None,
  Absent,    // fails with kAlreadyExists
  Present,   // fails with kNotFound
  Revision,  // present at exactly `Operation::revision`; fails with kNotFound or kAborted
};

struct Operation {
  enum class Type { Put, Delete, Check };  // Check writes nothing: a precondition only
  Type type = Type::Put;
  std::string key;
  std::string value;
  std::optional<WallTime> expires;
  Precondition precondition = Precondition::None;
  Revision revision = 0;
  bool operator==(const Operation&) const = default;
};

// Both ends of a half-open range [begin, end) of keys; an empty `end` means no upper bound.
struct KeyRange {
  std::string begin;
  std::string end;
  bool contains(std::string_view key) const { return key >= begin && (end.empty() || key < end); }
  bool operator==(const KeyRange&) const = default;
};
// Every key that starts with `prefix`.
KeyRange prefix_range(std::string_view prefix);

struct RangeRequest {
  KeyRange range;
  size_t limit = 0;  // items; 0 means no limit
};

struct RangeResult {
  std::vector<Item> items;  // in order of key
  bool more = false;        // the limit cut the answer short
  Revision revision = 0;    // of the store when it was read
};

struct Change {
  enum class Type { Put, Delete };
  Type type = Type::Put;
  Item item;  // a Delete has key and revision only
  bool operator==(const Change&) const = default;
};

struct Limits {
  size_t max_key_bytes = 1024;
  size_t max_value_bytes = 1 << 20;
  size_t max_operations = 128;  // per commit
};

// kInvalidArgument naming the operation if a commit breaks a limit, has two operations on one key,
// or none at all. Keys must not be empty or hold NUL.
Status validate(const std::vector<Operation>& operations, const Limits& limits);

// A position in the store's history. Not a queue: a watcher that stops reading costs nothing and
// finds out when it falls too far behind.
class Watch {
 public:
  virtual ~Watch() = default;
  // Waits for the next changes in the range: never empty, whole revisions, in order. kOutOfRange:
  // compacted, the changes after the last revision seen are no longer kept; read anew and watch
  // from there. kCancelled: close() was called.
  virtual asio::awaitable<Result<std::vector<Change>>> next() = 0;
  // How far it has come: every change in the range up to this revision was handed out. It also
  // moves while next() waits, when the store goes on without a change in the range; on etcd that is
  // seen only as often as etcd reports it (etcd_watch.h).
  virtual Revision reached() const = 0;
  // Ends a waiting next() and every later one. The watch is destroyed after next() returned.
  virtual void close() = 0;
};

class Store {
 public:
  virtual ~Store() = default;

  virtual asio::awaitable<Result<Item>> get(std::string key) = 0;  // kNotFound
  virtual asio::awaitable<Result<RangeResult>> range(RangeRequest request) = 0;

  // All or nothing; durable when it returns. A Delete of an absent key is no change (kNotFound if
  // its precondition says so); a commit that changes nothing returns the current revision.
  // kUnavailable with "outcome unknown" in its message: it may or may not have been applied.
  virtual asio::awaitable<Result<Revision>> commit(std::vector<Operation> operations) = 0;

  // Changes with a revision above `after`; kOutOfRange if they are no longer kept or are of the
  // future.
  virtual asio::awaitable<Result<std::unique_ptr<Watch>>> watch(KeyRange range, Revision after) = 0;

  // Removes up to `limit` items that expired at or before `now`, as ordinary deletes; how many. A
  // store that expires items by itself (etcd) has nothing to do here and returns 0.
  virtual asio::awaitable<Result<size_t>> expire(WallTime now, size_t limit) = 0;

  // Forgets history up to and including `through`.
  virtual asio::awaitable<Status> compact(Revision through) = 0;
};

}  // namespace holdfast::store

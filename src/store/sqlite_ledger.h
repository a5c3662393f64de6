// The rows of the SQLite file that are no items: which history it is, what was promised, and a copy
// that is being taken in. Part of the writer: used inside its transactions, on its thread.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "store/lineage.h"
#include "store/sqlite_database.h"

namespace holdfast::store {

struct TenureRequest {
  Epoch epoch = 0;
};
struct PromiseRequest {
  Epoch epoch = 0;
};
struct NoteRequest {
  std::string note;
};
struct AppendRequest {
  Epoch promise = 0;
  std::vector<Entry> entries;
};
struct BeginCopyRequest {
  ReplicaFacts of;
};
struct FinishCopyRequest {
  Epoch promise = 0;
};
using ReplicaWrite = std::variant<TenureRequest, PromiseRequest, NoteRequest, AppendRequest,
                                  BeginCopyRequest, CopyPage, FinishCopyRequest>;

// As the file says.
Result<ReplicaFacts> read_facts(SqliteDatabase& database);

class SqliteLedger {
 public:
  static Result<SqliteLedger> open(SqliteDatabase& database);

  const Lineage& lineage() const { return now_.lineage; }
  // Whether something changed since the last call that is neither the head nor the floor.
  bool take_changed() { return std::exchange(changed_, false); }

  // Around a transaction: end_batch() writes what is left before it is committed; undo_batch()
  // after it was rolled back.
  void begin_batch();
  Status end_batch();
  void undo_batch();

  // Why this write cannot be; ends a copy whose page it is.
  Status refuse(const ReplicaWrite& write);
  // Of an append, all but its changes.
  Status apply(SqliteDatabase& database, const ReplicaWrite& write);
  void commit(const Head& head) { now_.lineage.commit(head); }
  Status forget(Revision floor);
  void end_copy() { now_.incoming.reset(); }

 private:
  struct State {
    Lineage lineage;
    std::optional<IncomingCopy> incoming;
  };

  explicit SqliteLedger(ReplicaFacts facts) : now_{Lineage(std::move(facts)), std::nullopt} {}
  Status why_not(const ReplicaWrite& write) const;
  void remember();
  Status save_promise();
  Status save_tenures();
  Status save_number(const char* name, int64_t number);
  Status begin_copy(SqliteDatabase& database, const ReplicaFacts& of);
  Status add_to_copy(const CopyPage& page);
  Status finish_copy(SqliteDatabase& database, Epoch promise);

  State now_;
  std::optional<State>
      before_;  // as of some write of this batch before anything but the head changed
  Head head_before_;
  bool changed_ = true;
  SqliteStatement number_, note_, no_tenures_, tenure_, incoming_;
};

}  // namespace holdfast::store

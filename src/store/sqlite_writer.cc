#include "store/sqlite_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "store/sqlite_file.h"
#include "store/sqlite_rows.h"

namespace holdfast::store {
namespace {

// How long a checkpoint waits for readers before it gives up: a copy that is being read (replica.h)
// may take much longer.
constexpr int kCheckpointPatienceMs = 250;
constexpr int kPatienceMs = 10'000;

bool is_page(const SqliteWrite& write) {
  const auto* replica = std::get_if<ReplicaWrite>(&write);
  return replica != nullptr && std::holds_alternative<CopyPage>(*replica);
}

bool is_precondition(absl::StatusCode code) {
  return code == absl::StatusCode::kAborted || code == absl::StatusCode::kNotFound ||
         code == absl::StatusCode::kAlreadyExists;
}

}  // namespace

Result<SqliteWriter> SqliteWriter::open(const std::string& path, Options options) {
  TRY(SqliteDatabase database, open_sqlite_file(path, options.if_damaged));
  TRY(SqliteLedger ledger, SqliteLedger::open(database));
  SqliteWriter writer(std::move(database), std::move(ledger), options);
  TRY_OK(writer.prepare_statements());
  return writer;
}

std::optional<ReplicaFacts> SqliteWriter::changed_facts() {
  if (!ledger_.take_changed()) return std::nullopt;
  return facts();
}

Status SqliteWriter::prepare_statements() {
  TRY(begin_, database_.prepare("BEGIN IMMEDIATE"));
  TRY(commit_, database_.prepare("COMMIT"));
  TRY(rollback_, database_.prepare("ROLLBACK"));
  TRY(find_, database_.prepare("SELECT revision, created FROM item WHERE key=?1"));
  TRY(put_, database_.prepare("INSERT INTO item(key, value, revision, created, expires) "
                              "VALUES(?1, ?2, ?3, ?4, ?5) ON CONFLICT(key) DO UPDATE SET "
                              "value=?2, revision=?3, created=?4, expires=?5"));
  TRY(erase_, database_.prepare("DELETE FROM item WHERE key=?1"));
  TRY(log_, database_.prepare("INSERT INTO change(revision, position, type, key, value, created, "
                              "expires, chain) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"));
  TRY(expired_, database_.prepare("SELECT key FROM item WHERE expires IS NOT NULL AND "
                                  "expires<=?1 ORDER BY expires LIMIT ?2"));
  TRY(forget_, database_.prepare("DELETE FROM change WHERE revision<=?1"));
  return absl::OkStatus();
}

std::vector<Result<SqliteWritten>> SqliteWriter::write(const std::vector<SqliteWrite>& batch) {
  std::vector<Result<SqliteWritten>> answers;
  std::vector<Status> refused(batch.size());
  Result<std::vector<SqliteWritten>> together = write_together(batch, refused);
  if (absl::IsResourceExhausted(together.status())) {
    // The log may hold what a checkpoint can give back to the disk.
    sqlite3_busy_timeout(database_.handle(), kCheckpointPatienceMs);
    (void)database_.execute("PRAGMA wal_checkpoint(TRUNCATE)");
    sqlite3_busy_timeout(database_.handle(), kPatienceMs);
    refused.assign(batch.size(), Status());
    together = write_together(batch, refused);
  }
  if (!together.ok() && batch.size() > 1) {
    for (const SqliteWrite& alone : batch) answers.push_back(std::move(write({alone}).front()));
    return answers;
  }
  if (!together.ok() && is_page(batch.front())) ledger_.end_copy();
  for (size_t i = 0; i < batch.size(); ++i) {
    if (!together.ok()) {
      answers.push_back(together.status());
    } else if (!refused[i].ok()) {
      answers.push_back(refused[i]);
    } else {
      answers.push_back(std::move((*together)[i]));
    }
  }
  return answers;
}

// Fails, with nothing written, if the file could not be written; a write whose precondition does
// not hold is refused by itself.
Result<std::vector<SqliteWritten>> SqliteWriter::write_together(
    const std::vector<SqliteWrite>& batch, std::vector<Status>& refused) {
  const auto undo = [&](const Status& why) {
    (void)rollback_.run();  // fails only if SQLite has rolled back by itself already
    ledger_.undo_batch();
    return why;
  };
  TRY_OK(begin_.run());
  ledger_.begin_batch();
  std::vector<SqliteWritten> written(batch.size());
  for (size_t i = 0; i < batch.size(); ++i) {
    refused[i] = refuse(batch[i]);
    if (!refused[i].ok()) continue;
    Result<SqliteWritten> one = apply(batch[i]);
    if (one.ok()) {
      written[i] = *std::move(one);
      continue;
    }
    refused[i] = std::move(one).status();
    if (!is_precondition(refused[i].code())) return undo(refused[i]);
  }
  const Revision revision = facts().head.revision;
  if (revision - facts().floor >= options_.history + options_.compact_every) {
    const Status compacted = compact(revision - options_.history);
    if (!compacted.ok()) return undo(compacted);
  }
  Status committed = ledger_.end_batch();
  if (committed.ok()) committed = commit_.run();
  if (!committed.ok()) return undo(committed);
  return written;
}

Status SqliteWriter::refuse(const SqliteWrite& write) {
  if (const auto* replica = std::get_if<ReplicaWrite>(&write)) return ledger_.refuse(*replica);
  if (std::holds_alternative<CompactRequest>(write)) return absl::OkStatus();
  return ledger_.lineage().may_commit();
}

Result<SqliteWritten> SqliteWriter::apply(const SqliteWrite& write) {
  const auto unchanged = [this] {
    return SqliteWritten{.head = facts().head, .changes = {}, .entries = {}};
  };
  if (const auto* replica = std::get_if<ReplicaWrite>(&write)) return apply_replica(*replica);
  if (const auto* request = std::get_if<CompactRequest>(&write)) {
    TRY_OK(compact(request->through));
    return unchanged();
  }
  std::vector<Operation> operations;
  if (const auto* request = std::get_if<ExpireRequest>(&write)) {
    TRY(operations, expired_items(*request));
  } else {
    operations = std::get<std::vector<Operation>>(write);
  }
  TRY(std::vector<Change> changes, plan(std::move(operations), facts().head.revision + 1,
                                        [this](const std::string& key) { return look_up(key); }));
  if (changes.empty()) return unchanged();
  const Head head = ledger_.lineage().next(changes);
  TRY_OK(apply_entry(head, changes));
  ledger_.commit(head);
  return SqliteWritten{.head = head, .changes = std::move(changes), .entries = {}};
}

Result<SqliteWritten> SqliteWriter::apply_replica(const ReplicaWrite& write) {
  SqliteWritten written;
  if (const auto* request = std::get_if<AppendRequest>(&write)) {
    for (const Entry& entry : request->entries) TRY_OK(apply_entry(entry.head, entry.changes));
    written.entries = request->entries;
  }
  TRY_OK(ledger_.apply(database_, write));
  written.head = facts().head;
  written.replaced = std::holds_alternative<FinishCopyRequest>(write);
  return written;
}

Status SqliteWriter::apply_entry(const Head& head, const std::vector<Change>& changes) {
  for (size_t i = 0; i < changes.size(); ++i) {
    TRY_OK(apply_change(changes[i], static_cast<int64_t>(i), head));
  }
  return absl::OkStatus();
}

Result<std::vector<Operation>> SqliteWriter::expired_items(const ExpireRequest& request) {
  const size_t limit = std::min(request.limit, options_.max_operations);
  expired_.bind(1, to_number(request.now)).bind(2, static_cast<int64_t>(limit));
  std::vector<Operation> operations;
  for (;;) {
    TRY(const bool row, expired_.step());
    if (!row) return operations;
    Operation operation;
    operation.type = Operation::Type::Delete;
    operation.key = expired_.bytes(0);
    operations.push_back(std::move(operation));
  }
}

Result<std::optional<KeyState>> SqliteWriter::look_up(const std::string& key) {
  find_.bind_bytes(1, key);
  TRY(const bool row, find_.step());
  if (!row) return std::optional<KeyState>();
  const KeyState state{.revision = find_.number(0), .created_revision = find_.number(1)};
  find_.reset();
  return state;
}

Status SqliteWriter::apply_change(const Change& change, int64_t position, const Head& head) {
  const Item& item = change.item;
  if (change.type == Change::Type::Put) {
    bind_item(put_, item);
    TRY_OK(put_.run());
  } else {
    TRY_OK(erase_.bind_bytes(1, item.key).run());
  }
  log_.bind(1, item.revision).bind(2, position).bind(3, static_cast<int64_t>(change.type));
  log_.bind_bytes(4, item.key).bind_bytes(5, item.value).bind(6, item.created_revision);
  bind_expiry(log_, 7, item);
  if (position == 0 && head.epoch != 0) {
    log_.bind(8, static_cast<int64_t>(head.chain));
  } else {
    log_.bind_null(8);
  }
  return log_.run();
}

Status SqliteWriter::compact(Revision through) {
  const Revision floor = std::min(through, facts().head.revision);
  if (floor <= facts().floor) return absl::OkStatus();
  TRY_OK(forget_.bind(1, floor).run());
  return ledger_.forget(floor);
}

}  // namespace holdfast::store

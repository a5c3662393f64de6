#include "store/sqlite_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "store/sqlite_file.h"

namespace holdfast::store {
namespace {

int64_t to_number(WallTime time) {
  return time.time_since_epoch().count();
}

}  // namespace

Result<SqliteWriter> SqliteWriter::open(const std::string& path, Options options) {
  TRY(SqliteDatabase database, open_sqlite_file(path));
  SqliteWriter writer(std::move(database), options);
  TRY_OK(writer.prepare_statements());
  TRY(writer.floor_,
      writer.database_.query_number("SELECT number FROM meta WHERE name='compacted'"));
  TRY(const Revision newest,
      writer.database_.query_number("SELECT coalesce(max(revision), 0) FROM change"));
  writer.revision_ = std::max({kFirstRevision, writer.floor_, newest});
  return writer;
}

Status SqliteWriter::prepare_statements() {
  TRY(begin_, database_.prepare("BEGIN IMMEDIATE"));
  TRY(commit_, database_.prepare("COMMIT"));
  TRY(rollback_, database_.prepare("ROLLBACK"));
  TRY(find_, database_.prepare("SELECT revision, created FROM item WHERE key=?1"));
  TRY(put_, database_.prepare("INSERT INTO item(key, value, revision, created, expires) "
                              "VALUES(?1, ?2, ?3, ?4, ?5) ON CONFLICT(key) DO UPDATE SET "
                              "value=?2, revision=?3, expires=?5"));
  TRY(erase_, database_.prepare("DELETE FROM item WHERE key=?1"));
  TRY(log_, database_.prepare("INSERT INTO change(revision, position, type, key, value, created, "
                              "expires) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)"));
  TRY(expired_, database_.prepare("SELECT key FROM item WHERE expires IS NOT NULL AND "
                                  "expires<=?1 ORDER BY expires LIMIT ?2"));
  TRY(forget_, database_.prepare("DELETE FROM change WHERE revision<=?1"));
  TRY(mark_, database_.prepare("UPDATE meta SET number=?1 WHERE name='compacted'"));
  return absl::OkStatus();
}

std::vector<Result<SqliteWritten>> SqliteWriter::write(const std::vector<SqliteWrite>& batch) {
  std::vector<Result<SqliteWritten>> answers;
  std::vector<Status> refused(batch.size());
  Result<std::vector<SqliteWritten>> together = write_together(batch, refused);
  if (absl::IsResourceExhausted(together.status())) {
    // The log may hold what a checkpoint can give back to the disk.
    (void)database_.execute("PRAGMA wal_checkpoint(TRUNCATE)");
    refused.assign(batch.size(), Status());
    together = write_together(batch, refused);
  }
  if (!together.ok() && batch.size() > 1) {
    for (const SqliteWrite& alone : batch) answers.push_back(std::move(write({alone}).front()));
    return answers;
  }
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
  const Revision revision_before = revision_;
  const Revision floor_before = floor_;
  const auto undo = [&](const Status& why) {
    (void)rollback_.run();  // fails only if SQLite has rolled back by itself already
    revision_ = revision_before;
    floor_ = floor_before;
    return why;
  };
  TRY_OK(begin_.run());
  std::vector<SqliteWritten> written(batch.size());
  for (size_t i = 0; i < batch.size(); ++i) {
    Result<SqliteWritten> one = apply(batch[i]);
    if (one.ok()) {
      written[i] = *std::move(one);
      continue;
    }
    const absl::StatusCode code = one.status().code();
    refused[i] = std::move(one).status();
    const bool precondition = code == absl::StatusCode::kAborted ||
                              code == absl::StatusCode::kNotFound ||
                              code == absl::StatusCode::kAlreadyExists;
    if (!precondition) return undo(refused[i]);
  }
  if (revision_ - floor_ >= options_.history + options_.compact_every) {
    const Status compacted = compact(revision_ - options_.history);
    if (!compacted.ok()) return undo(compacted);
  }
  const Status committed = commit_.run();
  if (!committed.ok()) return undo(committed);
  return written;
}

Result<SqliteWritten> SqliteWriter::apply(const SqliteWrite& write) {
  if (const auto* request = std::get_if<CompactRequest>(&write)) {
    TRY_OK(compact(request->through));
    return SqliteWritten{.revision = revision_, .changes = {}};
  }
  std::vector<Operation> operations;
  if (const auto* request = std::get_if<ExpireRequest>(&write)) {
    TRY(operations, expired_items(*request));
  } else {
    operations = std::get<std::vector<Operation>>(write);
  }
  TRY(std::vector<Change> changes, plan(std::move(operations), revision_ + 1,
                                        [this](const std::string& key) { return look_up(key); }));
  if (changes.empty()) return SqliteWritten{.revision = revision_, .changes = {}};
  for (size_t i = 0; i < changes.size(); ++i) {
    TRY_OK(apply_change(changes[i], static_cast<int64_t>(i)));
  }
  revision_ += 1;
  return SqliteWritten{.revision = revision_, .changes = std::move(changes)};
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

Status SqliteWriter::apply_change(const Change& change, int64_t position) {
  const Item& item = change.item;
  const auto bind_expiry = [&](SqliteStatement& statement, int index) {
    if (item.expires) statement.bind(index, to_number(*item.expires));
    if (!item.expires) statement.bind_null(index);
  };
  if (change.type == Change::Type::Put) {
    put_.bind_bytes(1, item.key).bind_bytes(2, item.value);
    put_.bind(3, item.revision).bind(4, item.created_revision);
    bind_expiry(put_, 5);
    TRY_OK(put_.run());
  } else {
    TRY_OK(erase_.bind_bytes(1, item.key).run());
  }
  log_.bind(1, item.revision).bind(2, position).bind(3, static_cast<int64_t>(change.type));
  log_.bind_bytes(4, item.key).bind_bytes(5, item.value).bind(6, item.created_revision);
  bind_expiry(log_, 7);
  return log_.run();
}

Status SqliteWriter::compact(Revision through) {
  const Revision floor = std::min(through, revision_);
  if (floor <= floor_) return absl::OkStatus();
  TRY_OK(forget_.bind(1, floor).run());
  TRY_OK(mark_.bind(1, floor).run());
  floor_ = floor;
  return absl::OkStatus();
}

}  // namespace holdfast::store

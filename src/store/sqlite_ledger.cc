#include "store/sqlite_ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "store/sqlite_rows.h"

namespace holdfast::store {
namespace {

// The copy's table becomes the items' own, which costs the same for one item and for a million.
constexpr const char* kSwapTables = R"sql(
  DROP TABLE item;
  ALTER TABLE incoming RENAME TO item;
  CREATE INDEX item_expires ON item(expires) WHERE expires IS NOT NULL;
  CREATE TABLE incoming(
    key BLOB PRIMARY KEY, value BLOB NOT NULL, revision INTEGER NOT NULL,
    created INTEGER NOT NULL, expires INTEGER) WITHOUT ROWID;
  DELETE FROM change;
)sql";

Result<std::string> read_text(SqliteDatabase& database, std::string_view sql) {
  TRY(SqliteStatement statement, database.prepare(sql));
  TRY(const bool row, statement.step());
  if (!row) return absl::DataLossError("the store's file lacks one of its facts");
  return statement.bytes(0);
}

Result<std::vector<Tenure>> read_tenures(SqliteDatabase& database) {
  TRY(SqliteStatement rows, database.prepare("SELECT epoch, first FROM tenure ORDER BY epoch"));
  std::vector<Tenure> tenures;
  for (;;) {
    TRY(const bool row, rows.step());
    if (!row) return tenures;
    tenures.push_back({.epoch = static_cast<Epoch>(rows.number(0)), .first = rows.number(1)});
  }
}

// The usual append: neither a higher promise nor another tenure.
bool changes_only_the_head(const ReplicaFacts& facts, const AppendRequest& request) {
  if (request.promise != facts.promised) return false;
  if (request.entries.empty()) return true;
  const Epoch last = facts.tenures.back().epoch;
  return request.entries.front().head.epoch == last && request.entries.back().head.epoch == last;
}

}  // namespace

Result<ReplicaFacts> read_facts(SqliteDatabase& database) {
  const auto number = [&](const char* name) {
    return database.query_number(fmt::format("SELECT number FROM meta WHERE name='{}'", name));
  };
  ReplicaFacts facts;
  TRY(facts.store_id, read_text(database, "SELECT value FROM fact WHERE name='store_id'"));
  TRY(facts.note, read_text(database, "SELECT value FROM fact WHERE name='note'"));
  TRY(const int64_t promised, number("promised"));
  TRY(const int64_t chain, number("chain"));
  TRY(facts.floor, number("compacted"));
  TRY(const Revision newest,
      database.query_number("SELECT coalesce(max(revision), 0) FROM change"));
  TRY(facts.tenures, read_tenures(database));
  facts.promised = static_cast<Epoch>(promised);
  facts.head.chain = static_cast<uint64_t>(chain);
  facts.head.revision = std::max({kFirstRevision, facts.floor, newest});
  facts.head.epoch = epoch_of(facts.tenures, facts.head.revision);
  return facts;
}

Result<SqliteLedger> SqliteLedger::open(SqliteDatabase& database) {
  TRY(ReplicaFacts facts, read_facts(database));
  SqliteLedger ledger(std::move(facts));
  TRY(ledger.number_, database.prepare("UPDATE meta SET number=?1 WHERE name=CAST(?2 AS TEXT)"));
  TRY(ledger.note_, database.prepare("UPDATE fact SET value=?1 WHERE name='note'"));
  TRY(ledger.no_tenures_, database.prepare("DELETE FROM tenure"));
  TRY(ledger.tenure_, database.prepare("INSERT INTO tenure(epoch, first) VALUES(?1, ?2)"));
  TRY(ledger.incoming_, database.prepare("INSERT INTO incoming(key, value, revision, created, "
                                         "expires) VALUES(?1, ?2, ?3, ?4, ?5)"));
  // A copy that was not finished only takes up space, and so may a full disk keep it.
  TRY(const int64_t left, database.query_number("SELECT EXISTS(SELECT 1 FROM incoming)"));
  if (left != 0) (void)database.execute("DELETE FROM incoming");
  return ledger;
}

void SqliteLedger::begin_batch() {
  before_.reset();
  head_before_ = lineage().head();
}

Status SqliteLedger::end_batch() {
  const uint64_t chain = lineage().head().chain;
  if (chain == head_before_.chain) return absl::OkStatus();
  return save_number("chain", static_cast<int64_t>(chain));
}

void SqliteLedger::undo_batch() {
  if (before_) now_ = *std::exchange(before_, std::nullopt);
  now_.lineage.commit(head_before_);
}

void SqliteLedger::remember() {
  if (!before_) before_ = now_;
  changed_ = true;
}

Status SqliteLedger::refuse(const ReplicaWrite& write) {
  Status refused = why_not(write);
  if (!refused.ok() && std::holds_alternative<CopyPage>(write)) {
    remember();
    end_copy();
  }
  return refused;
}

Status SqliteLedger::why_not(const ReplicaWrite& write) const {
  struct Check {
    const State& now;
    Status operator()(const TenureRequest& request) const {
      return now.lineage.may_begin(request.epoch);
    }
    Status operator()(const PromiseRequest& request) const {
      return now.lineage.may_promise(request.epoch);
    }
    Status operator()(const NoteRequest& request) const { return check_note(request.note); }
    Status operator()(const AppendRequest& request) const {
      return now.lineage.may_append(request.promise, request.entries);
    }
    Status operator()(const BeginCopyRequest& request) const { return check_copy(request.of); }
    Status operator()(const CopyPage& page) const {
      TRY_OK(begun());
      return now.incoming->may_add(page);
    }
    Status operator()(const FinishCopyRequest& request) const {
      TRY_OK(begun());
      TRY_OK(now.incoming->may_finish());
      return now.lineage.may_replace(now.incoming->of(), request.promise);
    }
    Status begun() const {
      if (now.incoming) return absl::OkStatus();
      return absl::FailedPreconditionError("no copy was begun, or a page of it failed");
    }
  };
  return std::visit(Check{now_}, write);
}

Status SqliteLedger::apply(SqliteDatabase& database, const ReplicaWrite& write) {
  if (const auto* page = std::get_if<CopyPage>(&write)) return add_to_copy(*page);
  if (const auto* request = std::get_if<AppendRequest>(&write)) {
    const bool only_head = changes_only_the_head(lineage().facts(), *request);
    if (!only_head) remember();
    now_.lineage.append(request->promise, request->entries);
    if (only_head) return absl::OkStatus();
    TRY_OK(save_promise());
    return save_tenures();
  }
  remember();
  if (const auto* request = std::get_if<TenureRequest>(&write)) {
    now_.lineage.begin(request->epoch);
    TRY_OK(save_promise());
    return save_tenures();
  }
  if (const auto* request = std::get_if<PromiseRequest>(&write)) {
    now_.lineage.promise(request->epoch);
    return save_promise();
  }
  if (const auto* request = std::get_if<NoteRequest>(&write)) {
    now_.lineage.note(request->note);
    return note_.bind_bytes(1, request->note).run();
  }
  if (const auto* request = std::get_if<BeginCopyRequest>(&write)) {
    return begin_copy(database, request->of);
  }
  return finish_copy(database, std::get<FinishCopyRequest>(write).promise);
}

Status SqliteLedger::forget(Revision floor) {
  remember();
  const size_t tenures = lineage().facts().tenures.size();
  now_.lineage.forget(floor);
  TRY_OK(save_number("compacted", lineage().facts().floor));
  if (lineage().facts().tenures.size() == tenures) return absl::OkStatus();
  return save_tenures();
}

Status SqliteLedger::save_promise() {
  return save_number("promised", static_cast<int64_t>(lineage().facts().promised));
}

Status SqliteLedger::save_tenures() {
  TRY_OK(no_tenures_.run());
  for (const Tenure& tenure : lineage().facts().tenures) {
    TRY_OK(tenure_.bind(1, static_cast<int64_t>(tenure.epoch)).bind(2, tenure.first).run());
  }
  return absl::OkStatus();
}

Status SqliteLedger::save_number(const char* name, int64_t number) {
  return number_.bind(1, number).bind_bytes(2, name).run();
}

Status SqliteLedger::begin_copy(SqliteDatabase& database, const ReplicaFacts& of) {
  now_.incoming.emplace(of);
  return database.execute("DELETE FROM incoming");
}

Status SqliteLedger::add_to_copy(const CopyPage& page) {
  remember();
  for (const Item& item : page.items) {
    bind_item(incoming_, item);
    TRY_OK(incoming_.run());
  }
  now_.incoming->add(page);
  return absl::OkStatus();
}

Status SqliteLedger::finish_copy(SqliteDatabase& database, Epoch promise) {
  const IncomingCopy copy = *std::exchange(now_.incoming, std::nullopt);
  TRY_OK(database.execute(kSwapTables));
  now_.lineage.replace(copy.of(), promise);
  TRY_OK(save_promise());
  TRY_OK(save_number("compacted", lineage().facts().floor));
  return save_tenures();
}

}  // namespace holdfast::store

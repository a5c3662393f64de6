#include "store/sqlite_snapshot.h"

#include <fmt/format.h>

#include "store/sqlite_ledger.h"
#include "store/sqlite_rows.h"

namespace holdfast::store {

Result<SqliteSnapshot> SqliteSnapshot::open(const std::string& path) {
  TRY(SqliteDatabase database, SqliteDatabase::open(path, SqliteDatabase::Mode::ReadOnly));
  SqliteSnapshot snapshot(std::move(database));
  SqliteDatabase& db = snapshot.database_;
  TRY(snapshot.begin_, db.prepare("BEGIN"));
  TRY(snapshot.end_, db.prepare("COMMIT"));
  TRY(snapshot.page_,
      db.prepare(fmt::format("SELECT {} FROM item WHERE key>?1 ORDER BY key", kItemColumns)));
  return snapshot;
}

Result<ReplicaFacts> SqliteSnapshot::begin() {
  end(absl::OkStatus());
  TRY_OK(begin_.run());
  ended_ = absl::OkStatus();
  items_ = 0;
  last_key_.clear();
  Result<ReplicaFacts> facts = read_facts(database_);
  if (!facts.ok()) end(facts.status());
  return facts;
}

Result<CopyPage> SqliteSnapshot::page(size_t max_bytes) {
  if (!ended_.ok()) return ended_;
  Result<CopyPage> page = read(max_bytes);
  page_.reset();
  if (!page.ok()) end(page.status());
  if (page.ok() && page->last) end(absl::FailedPreconditionError("the copy was read to its end"));
  return page;
}

Result<CopyPage> SqliteSnapshot::read(size_t max_bytes) {
  CopyPage page{.before = items_, .items = {}, .last = false};
  size_t bytes = 0;
  page_.bind_bytes(1, last_key_);
  for (;;) {
    TRY(const bool row, page_.step());
    page.last = !row;
    if (!row || (bytes >= max_bytes && !page.items.empty())) break;
    page.items.push_back(read_item(page_));
    bytes += sizeof(Item) + page.items.back().key.size() + page.items.back().value.size();
  }
  items_ += page.items.size();
  if (!page.items.empty()) last_key_ = page.items.back().key;
  return page;
}

void SqliteSnapshot::end(Status why) {
  if (ended_.ok()) (void)end_.run();  // fails only if no transaction is open
  ended_ = std::move(why);
}

}  // namespace holdfast::store

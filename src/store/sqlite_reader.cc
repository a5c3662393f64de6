#include "store/sqlite_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "store/sqlite_rows.h"

namespace holdfast::store {
Result<SqliteReader> SqliteReader::open(const std::string& path) {
  TRY(SqliteDatabase database, SqliteDatabase::open(path, SqliteDatabase::Mode::ReadOnly));
  SqliteReader reader(std::move(database));
  const std::string columns = fmt::format("SELECT {} FROM item WHERE ", kItemColumns);
  SqliteDatabase& db = reader.database_;
  TRY(reader.begin_, db.prepare("BEGIN"));
  TRY(reader.end_, db.prepare("COMMIT"));
  TRY(reader.get_, db.prepare(columns + "key=?1"));
  TRY(reader.range_, db.prepare(columns + "key>=?1 AND key<?2 ORDER BY key LIMIT ?3"));
  TRY(reader.range_open_, db.prepare(columns + "key>=?1 ORDER BY key LIMIT ?2"));
  TRY(reader.changes_,
      db.prepare(fmt::format("SELECT {}, type, chain FROM change WHERE revision>?1 "
                             "ORDER BY revision, position",
                             kItemColumns)));
  TRY(reader.tenure_,
      db.prepare("SELECT epoch FROM tenure WHERE first<=?1 ORDER BY epoch DESC LIMIT 1"));
  TRY(reader.newest_,
      db.prepare(fmt::format("SELECT max({}, (SELECT coalesce(max(revision), 0) FROM "
                             "change), (SELECT number FROM meta WHERE "
                             "name='compacted'))",
                             kFirstRevision)));
  TRY(reader.floor_, db.prepare("SELECT number FROM meta WHERE name='compacted'"));
  return reader;
}

Result<Item> SqliteReader::get(const std::string& key) {
  get_.bind_bytes(1, key);
  TRY(const bool row, get_.step());
  if (!row) return absl::NotFoundError(fmt::format("key {} does not exist", in_quotes(key, 256)));
  Item item = read_item(get_);
  get_.reset();
  return item;
}

Result<RangeResult> SqliteReader::range(const RangeRequest& request) {
  TRY_OK(begin_.run());
  Result<RangeResult> result = range_in_snapshot(request);
  range_.reset();
  range_open_.reset();
  TRY_OK(end_.run());
  return result;
}

Result<RangeResult> SqliteReader::range_in_snapshot(const RangeRequest& request) {
  RangeResult result;
  TRY(result.revision, number_of(newest_));
  const bool open_ended = request.range.end.empty();
  SqliteStatement& rows = open_ended ? range_open_ : range_;
  // One more than asked for tells whether there is more; -1 is SQLite's "no limit".
  const int64_t limit = request.limit == 0 ? -1 : static_cast<int64_t>(request.limit) + 1;
  rows.bind_bytes(1, request.range.begin);
  if (!open_ended) rows.bind_bytes(2, request.range.end);
  rows.bind(open_ended ? 2 : 3, limit);
  for (;;) {
    TRY(const bool row, rows.step());
    if (!row) return result;
    if (request.limit > 0 && result.items.size() == request.limit) {
      result.more = true;
      return result;
    }
    result.items.push_back(read_item(rows));
  }
}

Result<ChangeSlice> SqliteReader::changes(const KeyRange& range, Revision after,
                                          size_t max_changes) {
  TRY_OK(begin_.run());
  Result<ChangeSlice> slice = changes_in_snapshot(range, after, max_changes);
  changes_.reset();
  TRY_OK(end_.run());
  return slice;
}

Result<ChangeSlice> SqliteReader::changes_in_snapshot(const KeyRange& range, Revision after,
                                                      size_t max_changes) {
  TRY(const Revision floor, number_of(floor_));
  TRY(const Revision newest, number_of(newest_));
  if (after < floor) {
    return absl::OutOfRangeError(fmt::format(
        "compacted: changes after revision {} are kept, not those after {}", floor, after));
  }
  if (after > newest) {
    return absl::OutOfRangeError(
        fmt::format("revision {} is in the future; the store is at {}", after, newest));
  }
  ChangeSlice slice{.changes = {}, .through = newest};
  size_t rows = 0;
  Revision previous = after;
  changes_.bind(1, after);
  for (;;) {
    TRY(const bool row, changes_.step());
    if (!row) return slice;
    const Revision revision = changes_.number(2);
    if (revision != previous && rows >= max_changes) {
      slice.through = previous;
      return slice;
    }
    previous = revision;
    rows += 1;
    Change change{.type = static_cast<Change::Type>(changes_.number(5)),
                  .item = read_item(changes_)};
    if (range.contains(change.item.key)) slice.changes.push_back(std::move(change));
  }
}

Result<std::vector<Entry>> SqliteReader::entries(Revision after, size_t max_bytes) {
  TRY_OK(begin_.run());
  Result<std::vector<Entry>> entries = entries_in_snapshot(after, max_bytes);
  changes_.reset();
  TRY_OK(end_.run());
  return entries;
}

Result<std::vector<Entry>> SqliteReader::entries_in_snapshot(Revision after, size_t max_bytes) {
  TRY(const Revision floor, number_of(floor_));
  if (after < floor) {
    return absl::OutOfRangeError(fmt::format(
        "compacted: entries after revision {} are kept, not those after {}", floor, after));
  }
  std::vector<Entry> entries;
  size_t bytes = 0;
  changes_.bind(1, after);
  for (;;) {
    TRY(const bool row, changes_.step());
    if (!row) return entries;
    Change change{.type = static_cast<Change::Type>(changes_.number(5)),
                  .item = read_item(changes_)};
    if (entries.empty() || entries.back().head.revision != change.item.revision) {
      if (bytes >= max_bytes && !entries.empty()) return entries;
      TRY(const Head head, head_of_row());
      entries.push_back({.head = head, .changes = {}});
    }
    bytes += sizeof(Change) + change.item.key.size() + change.item.value.size();
    entries.back().changes.push_back(std::move(change));
  }
}

// Of the revision whose first change `changes_` is at.
Result<Head> SqliteReader::head_of_row() {
  Head head{.epoch = 0, .revision = changes_.number(2), .chain = 0};
  if (changes_.is_null(6)) {
    return absl::OutOfRangeError(
        fmt::format("revision {} was written before the first tenure", head.revision));
  }
  TRY(const int64_t epoch, number_of(tenure_.bind(1, head.revision)));
  head.epoch = static_cast<Epoch>(epoch);
  head.chain = static_cast<uint64_t>(changes_.number(6));
  return head;
}

Result<Revision> SqliteReader::number_of(SqliteStatement& statement) {
  TRY(const bool row, statement.step());
  if (!row) return absl::DataLossError("the store's file lacks a row");
  const Revision number = statement.number(0);
  statement.reset();
  return number;
}

}  // namespace holdfast::store

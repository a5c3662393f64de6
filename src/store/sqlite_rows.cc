#include "store/sqlite_rows.h"

namespace holdfast::store {
namespace {

std::optional<WallTime> to_time(const SqliteStatement& statement, int column) {
  if (statement.is_null(column)) return std::nullopt;
  return WallTime(WallTime::duration(statement.number(column)));
}

}  // namespace

Item read_item(const SqliteStatement& row) {
  return {.key = row.bytes(0),
          .value = row.bytes(1),
          .revision = row.number(2),
          .created_revision = row.number(3),
          .expires = to_time(row, 4)};
}

void bind_item(SqliteStatement& statement, const Item& item) {
  statement.bind_bytes(1, item.key).bind_bytes(2, item.value);
  statement.bind(3, item.revision).bind(4, item.created_revision);
  bind_expiry(statement, 5, item);
}

int64_t to_number(WallTime time) {
  return time.time_since_epoch().count();
}

void bind_expiry(SqliteStatement& statement, int index, const Item& item) {
  if (item.expires) statement.bind(index, to_number(*item.expires));
  if (!item.expires) statement.bind_null(index);
}

}  // namespace holdfast::store

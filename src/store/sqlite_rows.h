// Items as rows of the SQLite file: the columns of kItemColumns come first, in their order.
#pragma once

#include "store/sqlite_database.h"
#include "store/store.h"

namespace holdfast::store {

inline constexpr const char* kItemColumns = "key, value, revision, created, expires";

Item read_item(const SqliteStatement& row);
// Binds 1 to 5. What is bound is the item's own: it must outlive the next reset().
void bind_item(SqliteStatement& statement, const Item& item);

int64_t to_number(WallTime time);
void bind_expiry(SqliteStatement& statement, int index, const Item& item);

}  // namespace holdfast::store

// The store's file before it is used: whose it is, which version, whether it is whole. A file that
// fails any of these is reported and left exactly as it was found.
#pragma once

#include <string>

#include "base/result.h"
#include "store/sqlite_database.h"

namespace holdfast::store {

// In the file's header: "HFst", so that another program's database is never taken for ours.
inline constexpr int64_t kSqliteApplicationId = 0x48467374;
inline constexpr int64_t kSqliteSchemaVersion = 2;

// A writer connection in WAL mode with every commit synced, the schema in place and checked. A file
// of an older version is upgraded in place, in one transaction.
// kDataLoss: damaged. kFailedPrecondition: not a Holdfast store, or made by a newer version.
Result<SqliteDatabase> open_sqlite_file(const std::string& path);

}  // namespace holdfast::store

// The store's file before it is used: whose it is, which version, whether it is whole. A file that
// fails any of these is reported and left exactly as it was found.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "store/sqlite_database.h"

namespace holdfast::store {

// In the file's header: "HFst", so that another program's database is never taken for ours.
inline constexpr int64_t kSqliteApplicationId = 0x48467374;
inline constexpr int64_t kSqliteSchemaVersion = 2;

// What to do about a damaged file. An old copy of a half's would be taken for what it replaces.
inline constexpr std::string_view kRestoreOrStartEmpty =
    "Restore it from a backup or move it away to start empty";
inline constexpr std::string_view kTakeACopy =
    "It is of a half of a pair, so restore nothing: move it, with its -wal and -shm, away and "
    "start "
    "this half, after `holdfast join` if it has no folder `identity`: it takes a whole copy from "
    "the other";

// A writer connection in WAL mode with every commit synced, the schema in place and checked. A file
// of an older version is upgraded in place, in one transaction.
// kDataLoss: damaged. kFailedPrecondition: not a Holdfast store, or made by a newer version.
// `if_damaged`: what to do then, a sentence of the message.
Result<SqliteDatabase> open_sqlite_file(const std::string& path,
                                        std::string_view if_damaged = kRestoreOrStartEmpty);

}  // namespace holdfast::store

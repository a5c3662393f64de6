#include "store/change_log.h"

#include <gtest/gtest.h>

namespace holdfast::store {
namespace {

const KeyRange kEverything{.begin = "", .end = ""};

Change put(std::string key, Revision revision) {
  return {.type = Change::Type::Put,
          .item = {.key = std::move(key),
                   .value = "v",
                   .revision = revision,
                   .created_revision = revision,
                   .expires = {}}};
}

ChangeLog filled(ChangeLogOptions options, Revision last) {
  ChangeLog log(options, 0, 0);
  for (Revision revision = 1; revision <= last; ++revision) log.append({put("/k", revision)});
  return log;
}

TEST(ChangeLog, ReadsWhatCameAfterInOrder) {
  const ChangeLog log = filled({}, 5);

  const Result<ChangeSlice> slice = log.read(kEverything, 2, 100);

  ASSERT_TRUE(slice.ok());
  ASSERT_EQ(slice->changes.size(), 3u);
  EXPECT_EQ(slice->changes.front().item.revision, 3);
  EXPECT_EQ(slice->through, 5);
}

TEST(ChangeLog, NeverSplitsARevision) {
  ChangeLog log({}, 0, 0);
  log.append({put("/a", 1), put("/b", 1), put("/c", 1)});
  log.append({put("/d", 2)});

  const Result<ChangeSlice> slice = log.read(kEverything, 0, 1);

  ASSERT_TRUE(slice.ok());
  EXPECT_EQ(slice->changes.size(), 3u);
  EXPECT_EQ(slice->through, 1);
}

TEST(ChangeLog, MovesTheReaderPastChangesOfOtherKeys) {
  const ChangeLog log = filled({}, 4);

  const Result<ChangeSlice> slice = log.read(prefix_range("/other"), 1, 100);

  ASSERT_TRUE(slice.ok());
  EXPECT_TRUE(slice->changes.empty());
  EXPECT_EQ(slice->through, 4);
}

TEST(ChangeLog, ForgetsTheOldestWhenFullAndSaysSo) {
  const ChangeLog log = filled({.max_changes = 3}, 10);

  EXPECT_EQ(log.floor(), 7);
  EXPECT_TRUE(log.read(kEverything, 7, 10).ok());
  EXPECT_EQ(log.read(kEverything, 6, 10).status().code(), absl::StatusCode::kOutOfRange);
}

TEST(ChangeLog, IsBoundedByBytesToo) {
  ChangeLog log({.max_changes = 1000, .max_bytes = 10'000}, 0, 0);
  for (Revision revision = 1; revision <= 100; ++revision) {
    log.append({put(std::string(1000, 'k'), revision)});
  }

  EXPECT_LT(log.size(), 10u);
}

TEST(ChangeLog, CompactMovesTheFloorEvenBetweenChanges) {
  ChangeLog log = filled({}, 5);

  log.compact(3);

  EXPECT_EQ(log.floor(), 3);
  EXPECT_EQ(log.read(kEverything, 2, 10).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(log.read(kEverything, 3, 10)->changes.size(), 2u);
}

TEST(ChangeLog, RefusesTheFuture) {
  EXPECT_EQ(filled({}, 5).read(kEverything, 6, 10).status().code(), absl::StatusCode::kOutOfRange);
}

}  // namespace
}  // namespace holdfast::store

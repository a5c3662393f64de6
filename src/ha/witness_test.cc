#include "ha/witness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/reason.h"
#include "store/replica.h"

namespace holdfast::ha {
namespace {

Record record(Epoch epoch, Members in_sync) {
  return {.epoch = epoch, .in_sync = in_sync, .store_ids = {"p", "b"}};
}

std::string code_of(const Status& status) {
  return std::string(split_reason(status).code);
}

const Members kBoth = Members::both();
const Members kPrimary = Members::of(Member::Primary);
const Members kBackup = Members::of(Member::Backup);

TEST(Witness, TakesTheFirstRecordFromAnyone) {
  EXPECT_TRUE(may_replace({}, {.expected = 0, .record = record(1, kPrimary)}).ok());
  EXPECT_TRUE(may_replace({}, {.expected = 0, .record = record(4, kBoth)}).ok());
}

TEST(Witness, RefusesWhoDoesNotKnowTheRecord) {
  const Status status = may_replace(record(3, kBoth), {.expected = 1, .record = record(5, kBoth)});
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(code_of(status), "HF4201");
  EXPECT_EQ(code_of(may_replace({}, {.expected = 1, .record = record(3, kBoth)})), "HF4201");
}

TEST(Witness, RefusesWhoDoesNotKnowTheRecordEvenByForce) {
  const RecordChange change{.expected = 1, .record = record(4, kBackup), .force = true};
  EXPECT_EQ(code_of(may_replace(record(3, kPrimary), change)), "HF4201");
}

TEST(Witness, RefusesANonMember) {
  const Status status =
      may_replace(record(3, kPrimary), {.expected = 3, .record = record(4, kBackup)});
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(code_of(status), "HF4202");
}

TEST(Witness, RefusesAMemberOnAnotherDisk) {
  Record next = record(5, kPrimary);
  next.store_id(Member::Primary) = "new";
  EXPECT_EQ(code_of(may_replace(record(3, kBoth), {.expected = 3, .record = next})), "HF4202");
}

TEST(Witness, TakesANonMemberIfAnOperatorInsists) {
  const RecordChange change{.expected = 3, .record = record(4, kBackup), .force = true};
  EXPECT_TRUE(may_replace(record(3, kPrimary), change).ok());
}

TEST(Witness, LetsTheActiveAdmitWhoWasNotInSync) {
  EXPECT_TRUE(may_replace(record(3, kPrimary), {.expected = 3, .record = record(5, kBoth)}).ok());
}

TEST(Witness, LetsAMemberTakeOverAndDropTheOther) {
  EXPECT_TRUE(may_replace(record(3, kBoth), {.expected = 3, .record = record(4, kBackup)}).ok());
  EXPECT_TRUE(may_replace(record(3, kBoth), {.expected = 3, .record = record(4, kBoth)}).ok());
}

TEST(Witness, RefusesRecordsThatMakeNoSense) {
  const auto refused = [](Record next) {
    return code_of(may_replace(record(3, kBoth), {.expected = 3, .record = std::move(next)})) ==
           "HF4203";
  };
  EXPECT_TRUE(refused(record(3, kBoth))) << "not a higher epoch";
  EXPECT_TRUE(refused(record(2, kBoth))) << "a lower epoch";
  EXPECT_TRUE(refused(record(5, kBackup))) << "the active half is not in sync";
  EXPECT_TRUE(refused(record(5, Members()))) << "nobody is in sync";
  Record nameless = record(5, kBoth);
  nameless.store_id(Member::Backup).clear();
  EXPECT_TRUE(refused(nameless)) << "a member without a disk";
}

TEST(Witness, RefusesAnEpochThatLeavesNoneEvenByForce) {
  const auto code = [](const Record& current, Epoch epoch) {
    return code_of(may_replace(
        current, {.expected = current.epoch, .record = record(epoch, kBoth), .force = true}));
  };
  EXPECT_EQ(code(record(3, kBoth), ~Epoch{0}), "HF4203");
  EXPECT_EQ(code({}, store::kMaxEpoch + 1), "HF4203");
  EXPECT_EQ(code({}, store::kMaxEpoch), "") << "a new witness is told what the pair has";
  EXPECT_EQ(code(record(3, kBoth), 3 + kMaxLeap + 1), "HF4203");
  EXPECT_EQ(code(record(3, kBoth), 3 + kMaxLeap), "");
  EXPECT_EQ(code(record(store::kMaxEpoch - 1, kBoth), store::kMaxEpoch), "");
  EXPECT_EQ(code(record(store::kMaxEpoch, kBoth), store::kMaxEpoch + 1), "HF4203");
}

}  // namespace
}  // namespace holdfast::ha

#include "store/lineage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::store {
namespace {

using absl::StatusCode;
using testing::ElementsAre;

std::vector<Change> lineage_put(Revision revision, std::string key, std::string value = "v") {
  Change change;
  change.item.key = std::move(key);
  change.item.value = std::move(value);
  change.item.revision = revision;
  change.item.created_revision = revision;
  return {change};
}

Lineage lineage_at(Revision revision) {
  ReplicaFacts facts;
  facts.store_id = "one";
  facts.head.revision = revision;
  return Lineage(facts);
}

// Commits one change and returns it as an entry.
Entry commit(Lineage& lineage, const std::string& value = "v") {
  std::vector<Change> changes = lineage_put(lineage.head().revision + 1, "a", value);
  const Head head = lineage.next(changes);
  lineage.commit(head);
  return {.head = head, .changes = std::move(changes)};
}

// As whoever took a whole copy of it.
Lineage copy_of(const Lineage& lineage) {
  Lineage copy = lineage_at(kFirstRevision);
  copy.replace(lineage.facts(), lineage.facts().promised);
  return copy;
}

TEST(Lineage, BeforeTheFirstTenureThereIsNoChain) {
  Lineage lineage = lineage_at(5);

  commit(lineage);

  EXPECT_EQ(lineage.head(), (Head{.epoch = 0, .revision = 6, .chain = 0}));
  EXPECT_THAT(lineage.facts().tenures, ElementsAre());
  EXPECT_EQ(may_read_entries(lineage.facts(), 5).code(), StatusCode::kOutOfRange);
}

TEST(Lineage, TheFirstTenureTakesOverWhatItFinds) {
  Lineage lineage = lineage_at(5);

  lineage.begin(1);

  EXPECT_EQ(lineage.head().epoch, 1u);
  EXPECT_EQ(lineage.head().revision, 5);
  EXPECT_NE(lineage.head().chain, 0u);
  EXPECT_THAT(lineage.facts().tenures, ElementsAre(Tenure{.epoch = 1, .first = 5}));
  EXPECT_EQ(may_read_entries(lineage.facts(), 4).code(), StatusCode::kOutOfRange);
  EXPECT_TRUE(may_read_entries(lineage.facts(), 5).ok());
}

TEST(Lineage, StoresThatWereFilledApartDoNotContinueEachOther) {
  Lineage one = lineage_at(5);
  const Lineage other = lineage_at(5);
  one.begin(1);

  const Entry entry = commit(one);

  EXPECT_FALSE(continues(one.facts(), other.head()));
  EXPECT_EQ(other.may_append(1, {entry}).code(), StatusCode::kFailedPrecondition);
}

TEST(Lineage, ATenureThatWroteNothingGivesWayToTheNext) {
  Lineage lineage = lineage_at(5);
  lineage.begin(1);
  commit(lineage);
  lineage.begin(3);
  lineage.begin(4);
  commit(lineage);

  EXPECT_THAT(lineage.facts().tenures,
              ElementsAre(Tenure{.epoch = 1, .first = 5}, Tenure{.epoch = 4, .first = 7}));
  EXPECT_EQ(epoch_of(lineage.facts().tenures, 4), 0u);
  EXPECT_EQ(epoch_of(lineage.facts().tenures, 5), 1u);
  EXPECT_EQ(epoch_of(lineage.facts().tenures, 6), 1u);
  EXPECT_EQ(epoch_of(lineage.facts().tenures, 7), 4u);
}

TEST(Lineage, EpochsDoNotGoBack) {
  Lineage lineage = lineage_at(5);
  lineage.begin(3);
  lineage.promise(5);

  EXPECT_EQ(lineage.may_begin(3).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(lineage.may_begin(4).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(lineage.may_promise(4).code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(lineage.may_promise(5).ok());
  EXPECT_TRUE(lineage.may_begin(5).ok());
  EXPECT_EQ(lineage.may_begin(0).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(lineage.may_promise(kMaxEpoch + 1).code(), StatusCode::kInvalidArgument);
}

TEST(Lineage, WhoFollowsCommitsNothingUntilItsOwnTenure) {
  Lineage active = lineage_at(5);
  active.begin(1);
  Lineage passive = copy_of(active);
  EXPECT_EQ(passive.may_commit().code(), StatusCode::kFailedPrecondition) << "after a copy";
  passive.begin(2);
  EXPECT_TRUE(passive.may_commit().ok());

  passive.promise(2);
  EXPECT_TRUE(passive.may_commit().ok()) << "its own epoch is no other's";
  passive.promise(3);
  EXPECT_EQ(passive.may_commit().code(), StatusCode::kFailedPrecondition);
}

TEST(Lineage, APromiseStopsAStoreWithoutATenureAsWell) {
  Lineage lineage = lineage_at(5);

  lineage.promise(1);

  EXPECT_EQ(lineage.may_commit().code(), StatusCode::kFailedPrecondition);
}

TEST(Lineage, WhatContinuesIsAppended) {
  Lineage active = lineage_at(5);
  active.begin(1);
  Lineage passive = copy_of(active);
  const std::vector<Entry> first = {commit(active), commit(active)};
  active.begin(3);
  const std::vector<Entry> second = {commit(active)};

  ASSERT_TRUE(passive.may_append(1, first).ok());
  passive.append(1, first);
  ASSERT_TRUE(passive.may_append(3, second).ok());
  passive.append(3, second);

  EXPECT_EQ(passive.head(), active.head());
  EXPECT_EQ(passive.facts().tenures, active.facts().tenures);
  EXPECT_EQ(passive.facts().promised, 3u);
}

TEST(Lineage, AnAppendForgetsTheOwnTenureThatWroteNothing) {
  Lineage active = lineage_at(5);
  active.begin(1);
  Lineage passive = copy_of(active);
  passive.begin(2);
  const std::vector<Entry> entries = {commit(active)};
  active.begin(3);

  ASSERT_TRUE(passive.may_append(3, entries).ok());
  passive.append(3, entries);

  EXPECT_THAT(passive.facts().tenures, ElementsAre(Tenure{.epoch = 1, .first = 5}));
  EXPECT_EQ(passive.facts().promised, 3u);
}

TEST(Lineage, WhatDoesNotContinueIsRefused) {
  Lineage active = lineage_at(5);
  active.begin(1);
  Lineage passive = copy_of(active);
  const Entry first = commit(active);
  const Entry second = commit(active);

  EXPECT_EQ(passive.may_append(1, {second}).code(), StatusCode::kFailedPrecondition) << "a gap";
  passive.append(1, {first});
  EXPECT_EQ(passive.may_append(1, {first}).code(), StatusCode::kFailedPrecondition) << "twice";
  passive.promise(2);
  EXPECT_EQ(passive.may_append(1, {second}).code(), StatusCode::kFailedPrecondition) << "deposed";
}

TEST(Lineage, AnEntryOfAnEpochThatIsOverIsRefused) {
  Lineage active = lineage_at(5);
  active.begin(1);
  Lineage old = copy_of(active);
  old.begin(1);
  Lineage passive = copy_of(active);
  active.begin(3);
  passive.append(3, {commit(active)});
  commit(old);

  EXPECT_EQ(passive.may_append(3, {commit(old)}).code(), StatusCode::kFailedPrecondition);
}

TEST(Lineage, AnEntryThatWasChangedOnItsWayIsDataLoss) {
  Lineage active = lineage_at(5);
  active.begin(1);
  const Lineage passive = copy_of(active);
  const Entry entry = commit(active);

  const auto code_with = [&](auto change) {
    Entry changed = entry;
    change(changed);
    return passive.may_append(1, {changed}).code();
  };

  EXPECT_EQ(code_with([](Entry&) {}), StatusCode::kOk);
  EXPECT_EQ(code_with([](Entry& e) { e.changes[0].item.value = "w"; }), StatusCode::kDataLoss);
  EXPECT_EQ(code_with([](Entry& e) { e.changes[0].item.key = "b"; }), StatusCode::kDataLoss);
  EXPECT_EQ(code_with([](Entry& e) { e.changes[0].type = Change::Type::Delete; }),
            StatusCode::kDataLoss);
  EXPECT_EQ(code_with([](Entry& e) { e.changes[0].item.created_revision -= 1; }),
            StatusCode::kDataLoss);
  EXPECT_EQ(code_with([](Entry& e) { e.changes[0].item.expires = WallTime(); }),
            StatusCode::kDataLoss);
  EXPECT_EQ(code_with([](Entry& e) { e.changes.push_back(e.changes[0]); }), StatusCode::kDataLoss);
  EXPECT_EQ(code_with([](Entry& e) { e.changes.clear(); }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code_with([](Entry& e) { e.changes[0].item.revision += 1; }),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(code_with([](Entry& e) { e.head.epoch = 2; }), StatusCode::kInvalidArgument);
}

TEST(Lineage, HistoriesThatPartedDoNotContinueEachOther) {
  Lineage active = lineage_at(5);
  active.begin(1);
  const Head shared = commit(active).head;
  Lineage other = copy_of(active);
  other.begin(2);
  const Head lost = commit(other, "theirs").head;
  active.begin(3);
  commit(active, "ours");
  commit(active, "ours");

  EXPECT_TRUE(continues(active.facts(), shared));
  EXPECT_TRUE(continues(active.facts(), active.head()));
  EXPECT_FALSE(continues(active.facts(), lost));
  EXPECT_FALSE(continues(other.facts(), active.head())) << "of its future";
  active.forget(shared.revision + 1);
  EXPECT_FALSE(continues(active.facts(), shared)) << "forgotten";
}

TEST(Lineage, TwoHistoriesAgreeUpToWhereTheyParted) {
  Lineage one = lineage_at(5);
  one.begin(1);
  commit(one);
  Lineage other = copy_of(one);
  EXPECT_EQ(agreed_through(one.facts(), other.facts()), 6);
  commit(one);
  EXPECT_EQ(agreed_through(one.facts(), other.facts()), 6) << "one is ahead";

  other.begin(2);
  EXPECT_EQ(agreed_through(one.facts(), other.facts()), 6) << "a tenure that wrote nothing";
  commit(other);
  commit(other);

  EXPECT_EQ(agreed_through(one.facts(), other.facts()), 6);
  EXPECT_EQ(agreed_through(other.facts(), one.facts()), 6);
  EXPECT_EQ(agreed_through(lineage_at(9).facts(), one.facts()), 0) << "one has no tenure";
  Lineage stranger = lineage_at(5);
  stranger.begin(3);
  EXPECT_EQ(agreed_through(stranger.facts(), one.facts()), 0);
}

TEST(Lineage, TenuresGoWithTheHistoryButForTheFloorsOwn) {
  Lineage lineage = lineage_at(5);
  for (const Epoch epoch : {1, 3, 5}) {
    lineage.begin(epoch);
    commit(lineage);
    commit(lineage);
  }

  lineage.forget(8);

  EXPECT_EQ(lineage.facts().floor, 8);
  EXPECT_THAT(lineage.facts().tenures,
              ElementsAre(Tenure{.epoch = 3, .first = 8}, Tenure{.epoch = 5, .first = 10}));
  EXPECT_EQ(may_read_entries(lineage.facts(), 7).code(), StatusCode::kOutOfRange);
  EXPECT_TRUE(may_read_entries(lineage.facts(), 8).ok());
  EXPECT_EQ(may_read_entries(lineage.facts(), 12).code(), StatusCode::kOutOfRange);
}

TEST(IncomingCopy, TakesItsPagesInOrderAndWhole) {
  ReplicaFacts facts;
  facts.head.revision = 9;
  IncomingCopy copy(facts);
  CopyPage first;
  first.items = {{.key = "a", .value = "", .revision = 2}, {.key = "b", .value = ""}};
  CopyPage second{.before = 2, .items = {{.key = "c", .value = ""}}, .last = true};

  EXPECT_EQ(copy.may_add(second).code(), StatusCode::kFailedPrecondition) << "the first is missing";
  ASSERT_TRUE(copy.may_add(first).ok());
  copy.add(first);
  EXPECT_EQ(copy.may_add(first).code(), StatusCode::kFailedPrecondition) << "twice";
  EXPECT_EQ(copy.may_finish().code(), StatusCode::kFailedPrecondition);
  ASSERT_TRUE(copy.may_add(second).ok());
  copy.add(second);

  EXPECT_TRUE(copy.may_finish().ok());
}

TEST(IncomingCopy, RefusesItemsThatCannotBe) {
  ReplicaFacts facts;
  facts.head.revision = 9;
  const IncomingCopy copy(facts);
  CopyPage unordered;
  unordered.items = {{.key = "b", .value = ""}, {.key = "a", .value = ""}};
  CopyPage newer;
  newer.items = {{.key = "a", .value = "", .revision = 10}};

  EXPECT_EQ(copy.may_add(unordered).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(copy.may_add(newer).code(), StatusCode::kInvalidArgument);
}

TEST(IncomingCopy, IsOfAStoreWithATenure) {
  Lineage lineage = lineage_at(5);
  EXPECT_EQ(check_copy(lineage.facts()).code(), StatusCode::kInvalidArgument);

  lineage.begin(1);

  EXPECT_TRUE(check_copy(lineage.facts()).ok());
  ReplicaFacts wrong = lineage.facts();
  wrong.head.epoch = 2;
  EXPECT_EQ(check_copy(wrong).code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace holdfast::store

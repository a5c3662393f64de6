#include "store/etcd_changes.h"

#include <gtest/gtest.h>

#include "store/etcd_history.h"

namespace holdfast::store {
namespace {

using etcdserverpb::StoredEvent;
using etcdserverpb::WatchResponse;

// Puts of keys "a", "b", ... with these revisions.
WatchResponse puts(const std::vector<Revision>& revisions, bool fragment = false) {
  WatchResponse response;
  response.set_fragment(fragment);
  char name = 'a';
  for (const Revision revision : revisions) {
    auto& pair = *response.add_events()->mutable_kv();
    pair.set_key(std::string("/h/") + name++);
    pair.set_mod_revision(revision);
  }
  return response;
}

WatchResponse progress(Revision revision) {
  WatchResponse response;
  response.mutable_header()->set_revision(revision);
  return response;
}

std::vector<Revision> revisions_of(const Result<std::vector<Change>>& changes) {
  std::vector<Revision> result;
  EXPECT_TRUE(changes.ok()) << changes.status();
  if (!changes.ok()) return result;
  for (const Change& change : *changes) result.push_back(change.item.revision);
  return result;
}

using Revisions = std::vector<Revision>;

TEST(EtcdChanges, HandsOutWhatIsNew) {
  EtcdChanges changes(EtcdKeys("/h"), 4);

  EXPECT_EQ(revisions_of(changes.add(puts({3, 4, 5, 5, 6}))), (Revisions{5, 5, 6}));
  EXPECT_EQ(changes.seen(), 6);
  EXPECT_EQ(revisions_of(changes.add(puts({5, 6}))), Revisions{});
}

TEST(EtcdChanges, HoldsTheLastRevisionOfAFragmentBack) {
  EtcdChanges changes(EtcdKeys("/h"), 0);

  EXPECT_EQ(revisions_of(changes.add(puts({1, 2, 2}, true))), Revisions{1});
  EXPECT_EQ(changes.seen(), 1);
  EXPECT_EQ(revisions_of(changes.add(puts({2}, true))), Revisions{});
  EXPECT_EQ(revisions_of(changes.add(puts({2, 3}))), (Revisions{2, 2, 2, 2, 3}));
}

TEST(EtcdChanges, ANewStreamStartsWithoutTheHalfOfTheOld) {
  EtcdChanges changes(EtcdKeys("/h"), 0);
  EXPECT_EQ(revisions_of(changes.add(puts({1, 2}, true))), Revisions{1});

  changes.restart();

  EXPECT_EQ(revisions_of(changes.add(puts({2, 2}))), (Revisions{2, 2}));
}

TEST(EtcdChanges, ProgressMovesItOnButNeverBack) {
  EtcdChanges changes(EtcdKeys("/h"), 4);

  EXPECT_EQ(revisions_of(changes.add(progress(9))), Revisions{});
  EXPECT_EQ(changes.seen(), 9);
  EXPECT_EQ(revisions_of(changes.add(progress(7))), Revisions{});
  EXPECT_EQ(changes.seen(), 9);
  EXPECT_EQ(revisions_of(changes.add(puts({9, 10}))), Revisions{10});
}

TEST(EtcdChanges, TheFirstAnswerIsNoProgress) {
  EtcdChanges changes(EtcdKeys("/h"), 4);
  WatchResponse created = progress(9);
  created.set_created(true);

  EXPECT_EQ(revisions_of(changes.add(created)), Revisions{});

  EXPECT_EQ(changes.seen(), 4) << "what happened from there to 9 is still to come";
}

TEST(EtcdChanges, ProgressIsNotPastWhatIsHandedOutWithIt) {
  EtcdChanges changes(EtcdKeys("/h"), 0);
  EXPECT_EQ(revisions_of(changes.add(puts({1, 2}, true))), Revisions{1});

  EXPECT_EQ(revisions_of(changes.add(progress(9))), Revisions{2});

  EXPECT_EQ(changes.seen(), 2);
}

TEST(EtcdChanges, ADeleteHasKeyAndRevisionOnly) {
  EtcdChanges changes(EtcdKeys("/h"), 0);
  WatchResponse response = puts({7});
  response.mutable_events(0)->set_type(StoredEvent::DELETE);

  const auto seen = changes.add(response);

  ASSERT_TRUE(seen.ok());
  Change expected;
  expected.type = Change::Type::Delete;
  expected.item.key = "a";
  expected.item.revision = 7;
  EXPECT_EQ(seen->at(0), expected);
}

TEST(EtcdChanges, TheEndOfAWatchHasAReason) {
  EtcdChanges changes(EtcdKeys("/h"), 4);
  WatchResponse compacted;
  compacted.set_canceled(true);
  compacted.set_compact_revision(9);
  WatchResponse denied;
  denied.set_canceled(true);
  denied.set_cancel_reason("etcdserver: permission denied");
  WatchResponse other;
  other.set_canceled(true);

  EXPECT_EQ(changes.add(compacted).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(changes.add(denied).status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(changes.add(other).status().code(), absl::StatusCode::kUnavailable);
}

TEST(EtcdChanges, AValueThatSomeoneElseWroteIsPassedOver) {
  EtcdChanges changes(EtcdKeys("/h"), 1);
  etcdserverpb::WatchResponse response = puts({2, 3, 4});
  response.mutable_events(1)->mutable_kv()->set_value("x");

  const auto seen = changes.add(response);

  ASSERT_TRUE(seen.ok()) << seen.status();
  ASSERT_EQ(seen->size(), 2u);
  EXPECT_EQ(seen->back().item.revision, 4);
}

TEST(EtcdChanges, ForeignKeysAndDisorderAreDataLoss) {
  EtcdChanges changes(EtcdKeys("/h"), 0);
  WatchResponse foreign = puts({1});
  foreign.mutable_events(0)->mutable_kv()->set_key("/other");

  EXPECT_EQ(changes.add(foreign).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(changes.add(puts({3, 2})).status().code(), absl::StatusCode::kDataLoss);
}

WatchResponse write(Revision revision, std::string key, std::string write_id) {
  etcdserverpb::HoldfastValue value;
  value.set_write_id(std::move(write_id));
  WatchResponse response;
  auto& pair = *response.add_events()->mutable_kv();
  pair.set_key(std::move(key));
  pair.set_mod_revision(revision);
  pair.set_value(value.SerializeAsString());
  return response;
}

EtcdHistorySearch search() {
  return EtcdHistorySearch({.write_id = "mine", .fence_key = "fence", .fence_revision = 9});
}

TEST(EtcdHistorySearch, FindsTheWriteBeforeTheFence) {
  EtcdHistorySearch history = search();

  EXPECT_EQ(history.add(write(6, "k", "other")), std::nullopt);
  const auto found = history.add(write(7, "k", "mine"));

  ASSERT_TRUE(found && found->ok());
  EXPECT_EQ(**found, 7);
}

TEST(EtcdHistorySearch, EndsAtTheFenceWithoutIt) {
  EtcdHistorySearch history = search();

  const auto found = history.add(write(9, "fence", ""));

  ASSERT_TRUE(found && found->ok());
  EXPECT_EQ(**found, std::nullopt);
}

TEST(EtcdHistorySearch, CompactedHistoryProvesNothing) {
  EtcdHistorySearch history = search();
  WatchResponse compacted;
  compacted.set_canceled(true);
  compacted.set_compact_revision(20);

  const auto found = history.add(compacted);

  ASSERT_TRUE(found);
  EXPECT_EQ(found->status().code(), absl::StatusCode::kOutOfRange);
}

}  // namespace
}  // namespace holdfast::store

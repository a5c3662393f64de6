// The replica contract: tenures, promises, entries, and what outlives a restart.
#pragma once

#include "store/replica_contract_fixture.h"

namespace holdfast::store {

TEST_P(ReplicaContract, ANewStoreIsNobodysCopy) {
  const ReplicaFacts& facts = active_.replica->facts();

  EXPECT_EQ(facts.store_id.size(), 32u);
  EXPECT_NE(facts.store_id, passive_.replica->facts().store_id);
  EXPECT_EQ(facts.promised, 0u);
  EXPECT_EQ(facts.head, Head{});
  EXPECT_THAT(facts.tenures, testing::IsEmpty());
  EXPECT_EQ(facts.note, "");
}

TEST_P(ReplicaContract, WithoutATenureNothingIsRecorded) {
  commit(active_, {put("a", "1")});
  const Revision last = commit(active_, {put("a", "2")});

  EXPECT_EQ(active_.replica->facts().head, (Head{.epoch = 0, .revision = last, .chain = 0}));
  EXPECT_EQ(code_of(active_.replica->entries(kFirstRevision, kMuch)),
            absl::StatusCode::kOutOfRange);
}

TEST_P(ReplicaContract, EntriesContinueACopy) {
  begin_pair();
  commit(active_, {put("a", "3"), erase("b")});
  commit(active_, {put_until("c", "4", WallTime(std::chrono::seconds(99)))});

  const Head head = ship(active_, passive_);

  EXPECT_EQ(head, active_.replica->facts().head);
  expect_equal(active_, passive_);
}

TEST_P(ReplicaContract, AppendedItemsExpireByTheirTimeInTheFollowersOwnTenure) {
  begin_pair();
  commit(active_, {put_until("c", "4", WallTime(std::chrono::seconds(99)))});
  ship(active_, passive_);
  EXPECT_EQ(code_of(passive_.store->expire(WallTime(std::chrono::seconds(99)), 10)),
            absl::StatusCode::kFailedPrecondition);

  ok(passive_.replica->begin_tenure(2));

  EXPECT_EQ(must(passive_.store->expire(WallTime(std::chrono::seconds(99)), 10)), 1u);
  EXPECT_EQ(passive_.replica->facts().head.epoch, 2u);
}

TEST_P(ReplicaContract, EntriesComeInPiecesOfTheSizeAskedFor) {
  begin_pair();
  const Revision start = active_.replica->facts().head.revision;
  for (int i = 0; i < 10; ++i) commit(active_, {put("a", std::string(1000, 'v'))});

  const auto one = must(active_.replica->entries(start, 1));
  const auto some = must(active_.replica->entries(start, 4000));
  const auto none = must(active_.replica->entries(start + 10, kMuch));

  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].head.revision, start + 1);
  EXPECT_GT(some.size(), 1u);
  EXPECT_LT(some.size(), 6u);
  EXPECT_THAT(none, testing::IsEmpty());
  EXPECT_EQ(code_of(active_.replica->entries(start + 11, kMuch)), absl::StatusCode::kOutOfRange);
}

TEST_P(ReplicaContract, ForgottenEntriesAreOutOfRange) {
  begin_pair();
  const Revision start = active_.replica->facts().head.revision;
  commit(active_, {put("a", "3")});
  const Revision last = commit(active_, {put("a", "4")});

  ok(active_.store->compact(start + 1));

  EXPECT_EQ(code_of(active_.replica->entries(start, kMuch)), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(must(active_.replica->entries(start + 1, kMuch)).size(), 1u);
  ok(active_.store->compact(last));
  EXPECT_EQ(active_.replica->facts().head.revision, last);
  EXPECT_THAT(must(active_.replica->entries(last, kMuch)), testing::IsEmpty());
}

TEST_P(ReplicaContract, AnAppendThatDoesNotContinueChangesNothing) {
  begin_pair();
  commit(active_, {put("a", "3")});
  commit(active_, {put("a", "4")});
  const std::vector<Entry> both = news(active_, passive_);
  std::vector<Entry> gap = {both[1]};
  std::vector<Entry> spoiled = both;
  spoiled[1].changes[0].item.value = "another";
  const ReplicaFacts before = passive_.replica->facts();
  const std::vector<Item> items_before = items(passive_);

  EXPECT_EQ(code_of(passive_.replica->append(1, gap)), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(code_of(passive_.replica->append(1, spoiled)), absl::StatusCode::kDataLoss);
  EXPECT_EQ(passive_.replica->facts(), before);
  EXPECT_EQ(items(passive_), items_before);

  EXPECT_EQ(must(passive_.replica->append(1, both)), active_.replica->facts().head);
  EXPECT_EQ(code_of(passive_.replica->append(1, both)), absl::StatusCode::kFailedPrecondition);
}

TEST_P(ReplicaContract, NothingOfALowerEpochThanPromisedIsTaken) {
  begin_pair();
  commit(active_, {put("a", "3")});
  const std::vector<Entry> entries = news(active_, passive_);

  ok(passive_.replica->promise(4));

  EXPECT_EQ(passive_.replica->facts().promised, 4u);
  EXPECT_EQ(code_of(passive_.replica->append(3, entries)), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(code_of(passive_.replica->promise(3)), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(code_of(passive_.replica->begin_tenure(3)), absl::StatusCode::kFailedPrecondition);
  ok(passive_.replica->begin_copy(must(active_.replica->begin_reading())));
  for (CopyPage& page : pages_of(active_)) ok(passive_.replica->add_to_copy(std::move(page)));
  EXPECT_EQ(code_of(passive_.replica->finish_copy(3)), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(must(passive_.replica->append(5, {})), passive_.replica->facts().head);
  EXPECT_EQ(passive_.replica->facts().promised, 5u) << "raised by no entries as well";
}

TEST_P(ReplicaContract, WhoFollowsCommitsNothing) {
  begin_pair();
  commit(active_, {put("a", "3")});
  ship(active_, passive_);

  EXPECT_EQ(code_of(passive_.store->commit({put("a", "4")})),
            absl::StatusCode::kFailedPrecondition);
  ok(active_.replica->promise(2));
  EXPECT_EQ(code_of(active_.store->commit({put("a", "5")})), absl::StatusCode::kFailedPrecondition);
}

TEST_P(ReplicaContract, ATakeoverGoesOnInItsOwnEpochAndBack) {
  begin_pair();
  ok(passive_.replica->begin_tenure(2));
  commit(passive_, {put("a", "by the other")});

  ship(passive_, active_);
  expect_equal(active_, passive_);
  ok(active_.replica->begin_tenure(3));
  commit(active_, {put("a", "by the first")});
  ship(active_, passive_);

  expect_equal(active_, passive_);
  EXPECT_EQ(active_.replica->facts().head.epoch, 3u);
  EXPECT_EQ(active_.replica->facts().tenures.size(), 3u);
  EXPECT_EQ(epoch_of(passive_.replica->facts().tenures, passive_.replica->facts().head.revision),
            3u);
}

TEST_P(ReplicaContract, AWatchFollowsAppendedEntries) {
  begin_pair();
  const Revision start = passive_.replica->facts().head.revision;
  const auto watch = must(passive_.store->watch(KeyRange{}, start));
  commit(active_, {put("a", "3")});
  commit(active_, {put("b", "4"), erase("a")});

  ship(active_, passive_);

  std::vector<Change> seen;
  while (seen.size() < 3) {
    const auto batch = must(watch->next());
    seen.insert(seen.end(), batch.begin(), batch.end());
  }
  EXPECT_THAT(texts(seen, start), testing::ElementsAre("put a=3@1", "put b=4@2", "delete a@2"));
}

TEST_P(ReplicaContract, TellsItsListenerOfEachNewHeadBeforeItIsAnswered) {
  ok(active_.replica->begin_tenure(1));
  std::vector<Revision> told;
  active_.replica->on_written([&] { told.push_back(active_.replica->facts().head.revision); });

  const Revision first = commit(active_, {put("a", "1")});
  EXPECT_THAT(told, testing::ElementsAre(first));
  const Revision second = commit(active_, {put("a", "2")});
  EXPECT_THAT(told, testing::ElementsAre(first, second));

  active_.replica->on_written({});
  commit(active_, {put("a", "3")});
  EXPECT_EQ(told.size(), 2u);
}

TEST_P(ReplicaContract, ItAllOutlivesARestart) {
  begin_pair();
  commit(active_, {put("a", "3")});
  ship(active_, passive_);
  ok(passive_.replica->begin_tenure(2));
  commit(passive_, {put("a", "4")});
  ok(passive_.replica->keep_note("what the pair knows"));
  ok(passive_.replica->promise(6));
  const ReplicaFacts before = passive_.replica->facts();
  const std::vector<Item> items_before = items(passive_);

  harness_->reopen(passive_);

  EXPECT_EQ(passive_.replica->facts(), before);
  EXPECT_EQ(items(passive_), items_before);
  EXPECT_EQ(passive_.replica->facts().note, "what the pair knows");
  const auto entries = must(passive_.replica->entries(before.head.revision - 2, kMuch));
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].head.epoch, 1u);
  EXPECT_EQ(entries[1].head, before.head);
}

TEST_P(ReplicaContract, TheHeadOutlivesItsHistory) {
  begin_pair();
  ok(active_.store->compact(active_.replica->facts().head.revision));
  const ReplicaFacts before = active_.replica->facts();

  harness_->reopen(active_);
  EXPECT_EQ(active_.replica->facts(), before);
  ok(active_.replica->begin_tenure(1));
  commit(active_, {put("a", "3")});
  ship(active_, passive_);

  expect_equal(active_, passive_);
}

TEST_P(ReplicaContract, ANoteHasALimit) {
  ok(active_.replica->keep_note(std::string(kMaxNoteBytes, 'n')));

  EXPECT_EQ(code_of(active_.replica->keep_note(std::string(kMaxNoteBytes + 1, 'n'))),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(active_.replica->facts().note.size(), kMaxNoteBytes);
}

TEST_P(ReplicaContract, AppendsAndCommitsThatArriveTogetherAreEachAnswered) {
  begin_pair();
  for (int i = 0; i < 30; ++i) commit(active_, {put("a", std::to_string(i))});
  const std::vector<Entry> entries = news(active_, passive_);
  ASSERT_EQ(entries.size(), 30u);
  std::vector<absl::StatusCode> codes;
  const auto note = [&codes](std::exception_ptr, const auto& result) {
    codes.push_back(result.status().code());
  };
  for (const Entry& entry : entries) {
    asio::co_spawn(harness_->io(), passive_.replica->append(1, {entry}), note);
    asio::co_spawn(harness_->io(), passive_.store->commit({put("mine", "no")}), note);
    asio::co_spawn(harness_->io(), passive_.replica->append(1, {entry}), note);
  }
  harness_->io().restart();
  while (codes.size() < 90) harness_->io().run_one();

  for (size_t i = 0; i < codes.size(); ++i) {
    EXPECT_EQ(codes[i], i % 3 == 0 ? absl::StatusCode::kOk : absl::StatusCode::kFailedPrecondition);
  }
  expect_equal(active_, passive_);
}

}  // namespace holdfast::store

// The replica contract: whole copies, read and taken in.
#pragma once

#include "store/replica_contract_fixture.h"

namespace holdfast::store {

TEST_P(ReplicaContract, AWholeCopyIsEqual) {
  commit(active_, {put("a", "1"), put_until("b", "2", WallTime(std::chrono::seconds(77)))});
  ok(active_.replica->begin_tenure(1));
  for (int i = 0; i < 20; ++i) {
    commit(active_, {put("k" + std::to_string(i), std::string(100, 'v'))});
  }
  commit(active_, {erase("a")});
  commit(passive_, {put("old", "gone after it")});
  const std::string id = passive_.replica->facts().store_id;

  copy(active_, passive_);

  expect_equal(active_, passive_);
  EXPECT_EQ(passive_.replica->facts().store_id, id);
  EXPECT_EQ(passive_.replica->facts().floor, passive_.replica->facts().head.revision);
}

TEST_P(ReplicaContract, TheLosersSuffixIsReadAndThenReplaced) {
  begin_pair();
  const Revision shared = active_.replica->facts().head.revision;
  commit(active_, {put("a", "lost")});
  ok(passive_.replica->begin_tenure(2));
  commit(passive_, {put("a", "kept")});
  EXPECT_FALSE(continues(passive_.replica->facts(), active_.replica->facts().head));
  EXPECT_EQ(code_of(active_.replica->append(2, must(passive_.replica->entries(shared, kMuch)))),
            absl::StatusCode::kFailedPrecondition);

  const std::vector<Entry> lost = must(active_.replica->entries(shared, kMuch));
  copy(passive_, active_);

  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost[0].changes[0].item.value, "lost");
  expect_equal(active_, passive_);
  EXPECT_EQ(must(active_.store->get("a")).value, "kept");
}

TEST_P(ReplicaContract, ACopyMayGoBackToAnEarlierRevision) {
  ok(active_.replica->begin_tenure(1));
  commit(active_, {put("a", "1")});
  for (int i = 0; i < 10; ++i) commit(passive_, {put("old", std::to_string(i))});

  copy(active_, passive_);
  expect_equal(active_, passive_);
  harness_->reopen(passive_);
  expect_equal(active_, passive_);
  commit(active_, {put("a", "2")});
  ship(active_, passive_);

  expect_equal(active_, passive_);
}

TEST_P(ReplicaContract, ACopyIsOfOneMoment) {
  begin_pair();
  const ReplicaFacts facts = must(active_.replica->begin_reading());
  const std::vector<Item> then = items(active_);
  const CopyPage first = must(active_.replica->read_page(1));
  commit(active_, {put("a", "later"), put("c", "later"), erase("b")});

  std::vector<Item> seen = first.items;
  for (const CopyPage& page : pages_of(active_)) {
    EXPECT_EQ(page.before, seen.size());
    seen.insert(seen.end(), page.items.begin(), page.items.end());
  }

  EXPECT_EQ(seen, then);
  EXPECT_EQ(facts.head.revision + 1, active_.replica->facts().head.revision);
  EXPECT_EQ(code_of(active_.replica->read_page(1)), absl::StatusCode::kFailedPrecondition);
}

TEST_P(ReplicaContract, ReadingACopyAnewEndsTheFormer) {
  begin_pair();
  must(active_.replica->begin_reading());
  must(active_.replica->read_page(1));
  commit(active_, {put("c", "3")});

  must(active_.replica->begin_reading());

  std::vector<Item> seen;
  for (const CopyPage& page : pages_of(active_)) {
    seen.insert(seen.end(), page.items.begin(), page.items.end());
  }
  EXPECT_EQ(seen, items(active_));
  must(active_.replica->begin_reading());
  ok(active_.replica->end_reading());
  EXPECT_EQ(code_of(active_.replica->read_page(1)), absl::StatusCode::kFailedPrecondition);
}

TEST_P(ReplicaContract, AnUnfinishedCopyIsNotSeen) {
  begin_pair();
  commit(active_, {put("c", "3")});
  const std::vector<Item> before = items(passive_);
  ok(passive_.replica->begin_copy(must(active_.replica->begin_reading())));
  ok(passive_.replica->add_to_copy(must(active_.replica->read_page(1))));

  EXPECT_EQ(items(passive_), before);
  EXPECT_EQ(code_of(passive_.replica->finish_copy(1)), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(items(passive_), before);
  EXPECT_EQ(ship(active_, passive_), active_.replica->facts().head) << "the old history goes on";
}

TEST_P(ReplicaContract, AMissingPageEndsTheCopy) {
  begin_pair();
  ok(passive_.replica->begin_copy(must(active_.replica->begin_reading())));
  std::vector<CopyPage> pages = pages_of(active_);
  ASSERT_GE(pages.size(), 2u);

  EXPECT_EQ(code_of(passive_.replica->add_to_copy(pages[1])),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(code_of(passive_.replica->add_to_copy(pages[0])),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(code_of(passive_.replica->finish_copy(1)), absl::StatusCode::kFailedPrecondition);
  copy(active_, passive_);
  expect_equal(active_, passive_);
}

TEST_P(ReplicaContract, ACopyEndsTheWatchesOfBefore) {
  begin_pair();
  const Revision start = passive_.replica->facts().head.revision;
  const auto at_the_end = must(passive_.store->watch(KeyRange{}, start));
  std::optional<Status> ended;
  asio::co_spawn(harness_->io(), at_the_end->next(),
                 [&ended](std::exception_ptr, Result<std::vector<Change>> changes) {
                   ended = changes.status();
                 });

  copy(active_, passive_);  // of the same revision: it is another history all the same
  while (!ended) harness_->io().run_one();

  EXPECT_EQ(ended->code(), absl::StatusCode::kOutOfRange);
  EXPECT_TRUE(run(passive_.store->watch(KeyRange{}, start)).ok());
}

}  // namespace holdfast::store

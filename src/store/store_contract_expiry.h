// The store contract: items that expire.
#pragma once

#include "store/store_contract_fixture.h"

namespace holdfast::store {

TEST_P(StoreContract, AnExpiryIsKeptWithItsItem) {
  const WallTime tomorrow = harness_->now() + std::chrono::hours(24);

  commit({put_until("a", "1", tomorrow)});
  const auto watch = open_watch(KeyRange{}, origin());

  EXPECT_EQ(get("a")->expires, tomorrow);
  EXPECT_EQ(range(KeyRange{})->items[0].expires, tomorrow);
  EXPECT_EQ(collect(*watch, 1)[0].item.expires, tomorrow);
}

TEST_P(StoreContract, AnItemIsGoneAfterItsExpiryAndNotBefore) {
  const WallTime soon = harness_->now() + harness_->short_life();
  const WallTime later = soon + std::chrono::hours(1);
  const Revision written =
      commit({put_until("later", "1", later), put_until("soon", "1", soon), put("stays", "1")});
  const auto watch = open_watch(KeyRange{}, written);
  EXPECT_TRUE(get("soon").ok());

  harness_->pass(soon);
  const auto seen = collect_texts(*watch, 1);

  EXPECT_GE(harness_->now(), soon);
  EXPECT_THAT(seen, testing::ElementsAre("delete soon@2"));
  EXPECT_THAT(keys_of(range(KeyRange{})->items), testing::ElementsAre("later", "stays"));
}

TEST_P(StoreContract, ANewExpiryReplacesTheOld) {
  const WallTime soon = harness_->now() + harness_->short_life();
  const WallTime tomorrow = harness_->now() + std::chrono::hours(24);
  commit({put_until("extended", "1", soon), put_until("marker", "1", soon)});

  commit({put_until("extended", "1", tomorrow)});
  const auto watch = open_watch(prefix_range("marker"), origin() + 2);
  harness_->pass(soon);
  EXPECT_EQ(collect(*watch, 1).size(), 1u);

  EXPECT_EQ(get("extended")->expires, tomorrow);
}

TEST_P(StoreContract, WritingWithoutExpiryKeepsTheItemForGood) {
  const WallTime soon = harness_->now() + harness_->short_life();
  commit({put_until("kept", "1", soon), put_until("marker", "1", soon)});

  commit({put("kept", "2")});
  const auto watch = open_watch(prefix_range("marker"), origin() + 2);
  harness_->pass(soon);
  EXPECT_EQ(collect(*watch, 1).size(), 1u);

  EXPECT_EQ(get("kept")->value, "2");
  EXPECT_EQ(get("kept")->expires, std::nullopt);
}

TEST_P(StoreContract, AnExpiryInThePastIsAnImmediateOne) {
  const WallTime now = harness_->now();
  const Revision written = commit({put_until("a", "1", now - std::chrono::hours(1))});
  const auto watch = open_watch(KeyRange{}, written);

  harness_->pass(now);

  EXPECT_THAT(collect_texts(*watch, 1), testing::ElementsAre("delete a@2"));
  EXPECT_FALSE(get("a").ok());
}

}  // namespace holdfast::store

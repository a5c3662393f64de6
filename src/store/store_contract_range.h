// The store contract: reading ranges.
#pragma once

#include "store/store_contract_fixture.h"

namespace holdfast::store {

using testing::ElementsAre;
using testing::IsEmpty;

TEST_P(StoreContract, ARangeIsOrderedAndHalfOpen) {
  commit({put("c", "3"), put("a", "1"), put("d", "4"), put("b", "2")});

  const auto found = range({.begin = "a", .end = "d"});

  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(keys_of(found->items), ElementsAre("a", "b", "c"));
  EXPECT_EQ(found->items[1].value, "2");
  EXPECT_FALSE(found->more);
}

TEST_P(StoreContract, ALimitCutsARangeShortAndSaysSo) {
  const Revision revision = commit({put("a", ""), put("b", ""), put("c", "")});

  const auto two = range(KeyRange{}, 2);
  const auto three = range(KeyRange{}, 3);

  EXPECT_THAT(keys_of(two->items), ElementsAre("a", "b"));
  EXPECT_TRUE(two->more);
  EXPECT_EQ(two->revision, revision);
  EXPECT_THAT(keys_of(three->items), ElementsAre("a", "b", "c"));
  EXPECT_FALSE(three->more);
}

TEST_P(StoreContract, APrefixRangeHoldsEveryKeyWithIt) {
  commit({put("a", ""), put("a\xff", ""), put("a\xff\xff", ""), put("a\xff\xff!", ""), put("b", ""),
          put("\xff", ""), put("\xff\xff", ""), put("\xff\xfe", "")});

  EXPECT_THAT(keys_of(range(prefix_range("a"))->items),
              ElementsAre("a", "a\xff", "a\xff\xff", "a\xff\xff!"));
  EXPECT_THAT(keys_of(range(prefix_range("a\xff\xff"))->items),
              ElementsAre("a\xff\xff", "a\xff\xff!"));
  EXPECT_THAT(keys_of(range(prefix_range("\xff"))->items),
              ElementsAre("\xff", "\xff\xfe", "\xff\xff"));
  EXPECT_THAT(keys_of(range(prefix_range("c"))->items), IsEmpty());
}

TEST_P(StoreContract, AnEmptyEndMeansNoUpperBound) {
  commit({put("a", ""), put("b", ""), put("\xff\xff\xff", "")});

  EXPECT_THAT(keys_of(range({.begin = "b", .end = ""})->items), ElementsAre("b", "\xff\xff\xff"));
}

TEST_P(StoreContract, ARangeWithoutKeysIsEmptyAtTheCurrentRevision) {
  EXPECT_EQ(range(KeyRange{})->revision, origin());
  const Revision revision = commit({put("b", "")});

  for (const KeyRange& empty :
       {KeyRange{.begin = "c", .end = "d"}, KeyRange{.begin = "b", .end = "b"},
        KeyRange{.begin = "c", .end = "a"}}) {
    const auto found = range(empty);

    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_THAT(found->items, IsEmpty());
    EXPECT_FALSE(found->more);
    EXPECT_EQ(found->revision, revision);
  }
}

TEST_P(StoreContract, ALongRangeIsReadWhole) {
  constexpr size_t kCommits = 12;
  const size_t per_commit = harness_->limits().max_operations;
  for (size_t i = 0; i < kCommits; ++i) {
    std::vector<Operation> operations;
    for (size_t j = 0; j < per_commit; ++j) {
      operations.push_back(put("k" + std::to_string(1'000'000 + i * per_commit + j), "v"));
    }
    commit(std::move(operations));
  }

  const auto all = range(prefix_range("k"));
  const auto most = range(prefix_range("k"), kCommits * per_commit - 1);

  EXPECT_EQ(all->items.size(), kCommits * per_commit);
  EXPECT_TRUE(std::ranges::is_sorted(keys_of(all->items)));
  EXPECT_FALSE(all->more);
  EXPECT_EQ(most->items.size(), kCommits * per_commit - 1);
  EXPECT_TRUE(most->more);
}

}  // namespace holdfast::store

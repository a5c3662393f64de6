#include "store/etcd_leases.h"

#include <gtest/gtest.h>

#include "store/etcd_pages.h"

namespace holdfast::store {
namespace {

WallTime at(int64_t milliseconds) {
  return WallTime(std::chrono::milliseconds(1'000'000'000 + milliseconds));
}

EtcdLeases leases(size_t max_buckets = 8) {
  return EtcdLeases({.width = std::chrono::seconds(5), .max_buckets = max_buckets});
}

TEST(EtcdLeases, ALeaseReachesTheEndOfItsBucket) {
  const EtcdLeases table = leases();

  for (int64_t now = 0; now < 10'000; now += 333) {
    for (int64_t expires = now; expires < now + 30'000; expires += 501) {
      const auto bucket = table.bucket(at(expires), at(now));
      const int64_t ends = now + bucket.ttl_seconds * 1000;

      EXPECT_GE(ends, expires) << "vanishes early: expires " << expires << " now " << now;
      EXPECT_LE(ends, expires + 6'000);
    }
  }
}

TEST(EtcdLeases, NeighboursInTimeShareABucket) {
  const EtcdLeases table = leases();

  EXPECT_EQ(table.bucket(at(5'001), at(0)).index, table.bucket(at(10'000), at(3'000)).index);
  EXPECT_NE(table.bucket(at(5'000), at(0)).index, table.bucket(at(5'001), at(0)).index);
}

TEST(EtcdLeases, ThePastFallsInTheBucketOfNow) {
  const EtcdLeases table = leases();

  EXPECT_EQ(table.bucket(at(-100'000), at(7'000)), table.bucket(at(7'000), at(7'000)));
  EXPECT_GE(table.bucket(at(-100'000), at(10'000)).ttl_seconds, 1);
}

TEST(EtcdLeases, AnExpiryBeyondWhatEtcdTakesIsCutToIt) {
  const auto never = WallTime(std::chrono::milliseconds(int64_t{1} << 62));

  const auto bucket = leases().bucket(never, at(0));

  EXPECT_LE(bucket.ttl_seconds, 9'000'000'000);
  EXPECT_GT(bucket.ttl_seconds, 8'000'000'000);
}

TEST(EtcdLeases, ForgetsLeasesThatEndedOrAreGone) {
  EtcdLeases table = leases();
  const int64_t first = table.bucket(at(5'000), at(0)).index;
  table.remember(first, 11, at(0));
  table.remember(first + 1, 12, at(0));
  table.forget_lease(12);
  EXPECT_EQ(table.find(first), 11);
  EXPECT_EQ(table.find(first + 1), std::nullopt);

  table.remember(first + 2, 13, at(5'001));

  EXPECT_EQ(table.find(first), std::nullopt);
  EXPECT_EQ(table.size(), 1u);
}

TEST(EtcdLeases, RemembersNoMoreThanItsLimit) {
  EtcdLeases table = leases(3);
  const int64_t first = table.bucket(at(0), at(0)).index;

  for (int64_t i = 0; i < 10; ++i) table.remember(first + i, i, at(0));

  EXPECT_EQ(table.size(), 3u);
  EXPECT_EQ(table.find(first), 0) << "the nearest are kept";
}

TEST(EtcdPages, GrowWithSmallItemsAndShrinkWhenTooLarge) {
  EtcdPages pages;
  EXPECT_EQ(pages.limit(), EtcdPages::kSmallest);

  pages.on_page(32, 32 * 100);
  EXPECT_EQ(pages.limit(), EtcdPages::kLargest);
  EXPECT_TRUE(pages.on_too_large());
  EXPECT_EQ(pages.limit(), EtcdPages::kSmallest);
  EXPECT_FALSE(pages.on_too_large());
  pages.on_page(32, 32 << 20);
  EXPECT_EQ(pages.limit(), EtcdPages::kSmallest);
  pages.on_page(0, 0);
  EXPECT_EQ(pages.limit(), EtcdPages::kLargest);
}

}  // namespace
}  // namespace holdfast::store

#include "store/etcd_keys.h"

#include <gtest/gtest.h>

#include "store/etcd_errors.h"

namespace holdfast::store {
namespace {

const std::string kNul(1, '\0');

TEST(EtcdKeys, PrefixesNeverMeet) {
  const EtcdKeys keys("/holdfast");

  EXPECT_EQ(keys.stored("2/a"), "/holdfast/2/a");
  EXPECT_EQ(EtcdKeys("/holdfast/").stored("a"), "/holdfast/a");
  EXPECT_EQ(*keys.plain("/holdfast/a"), "a");
  EXPECT_EQ(keys.plain("/holdfast2/a").status().code(), absl::StatusCode::kDataLoss);
}

TEST(EtcdKeys, RangesExcludeInternalKeysAndOtherPrefixes) {
  const EtcdKeys keys("/h");

  EXPECT_EQ(keys.stored_range({}), (KeyRange{"/h/\x01", "/h0"}));
  EXPECT_EQ(keys.stored_range({.begin = "a", .end = "b"}), (KeyRange{"/h/a", "/h/b"}));
  EXPECT_EQ(keys.stored_range({.begin = "a", .end = ""}), (KeyRange{"/h/a", "/h0"}));
  EXPECT_FALSE(keys.stored_range({}).contains(keys.fence(3)));
  EXPECT_TRUE(keys.whole().contains(keys.fence(3)));
}

TEST(EtcdKeys, ARangeWithoutKeysHoldsNoneOfOurs) {
  const EtcdKeys keys("/h");

  const KeyRange none = keys.stored_range({.begin = "b", .end = "b"});

  EXPECT_LT(none.begin, none.end);
  EXPECT_FALSE(none.contains("/h/b"));
  EXPECT_FALSE(none.contains(keys.fence(0)));
}

TEST(EtcdKeys, AnEmptyPrefixIsTheWholeOfEtcd) {
  const EtcdKeys keys("");

  EXPECT_EQ(keys.stored("a"), "a");
  EXPECT_EQ(keys.stored_range({}), (KeyRange{"\x01", kNul}));
  EXPECT_EQ(keys.whole(), (KeyRange{kNul, kNul}));
}

TEST(EtcdErrors, MeanWhatEtcdSays) {
  EXPECT_TRUE(etcd_may_recover(absl::UnavailableError("etcdserver: leader changed")));
  EXPECT_TRUE(etcd_may_recover(absl::DeadlineExceededError("")));
  EXPECT_FALSE(etcd_may_recover(absl::InvalidArgumentError("etcdserver: request is too large")));
  EXPECT_FALSE(etcd_may_recover(absl::OkStatus()));
  EXPECT_TRUE(etcd_refused_token(absl::UnauthenticatedError("etcdserver: invalid auth token")));
  EXPECT_FALSE(etcd_refused_token(absl::UnauthenticatedError("who are you")));
  EXPECT_TRUE(etcd_lost_lease(absl::NotFoundError("etcdserver: requested lease not found")));
  EXPECT_TRUE(etcd_compacted(
      absl::OutOfRangeError("etcdserver: mvcc: required revision has been compacted")));
}

}  // namespace
}  // namespace holdfast::store

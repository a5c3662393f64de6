#include "api/tenure.h"

#include <gtest/gtest.h>

namespace holdfast::api {
namespace {

using namespace std::chrono_literals;
using store::Operation;
using store::Precondition;

constexpr Time kStart{1h};

Tenure make(const std::string& name = "a") {
  return Tenure({.name = name, .ttl = 6s});
}

TEST(Tenure, NothingIsTakenBeforeTheStoreWasSeen) {
  const Tenure tenure = make();

  EXPECT_TRUE(tenure.take(kStart).empty());
  EXPECT_FALSE(tenure.held(kStart));
}

TEST(Tenure, WhatNobodyHoldsIsTakenAtOnceAndOnlyIfNobodyElseDoesMeanwhile) {
  Tenure tenure = make();
  tenure.saw({}, kStart);

  const std::vector<Operation> wanted = tenure.take(kStart);

  ASSERT_EQ(wanted.size(), 2u);
  EXPECT_EQ(wanted[0].key, kTasksKey);
  EXPECT_EQ(wanted[0].precondition, Precondition::Absent);
  EXPECT_EQ(wanted[1].key, kTasksBeatKey);
  EXPECT_EQ(wanted[1].precondition, Precondition::Absent);
}

TEST(Tenure, AHolderThatRenewsIsLeftAloneForEver) {
  Tenure tenure = make();
  Time now = kStart;
  for (store::Revision beat = 10; beat < 1000; ++beat, now += 1s) {
    tenure.saw({.taken = 9, .beat = beat, .holder = "b"}, now);
    ASSERT_TRUE(tenure.take(now).empty());
  }
  EXPECT_EQ(tenure.holder(), "b");
}

TEST(Tenure, AHolderThatDoesNotRenewIsReplacedAfterTheTtlOfOurOwnClock) {
  Tenure tenure = make();
  tenure.saw({.taken = 9, .beat = 10, .holder = "b"}, kStart);
  tenure.saw({.taken = 9, .beat = 10, .holder = "b"}, kStart + 5999ms);

  EXPECT_TRUE(tenure.take(kStart + 5999ms).empty());
  const std::vector<Operation> wanted = tenure.take(kStart + 6s);

  ASSERT_EQ(wanted.size(), 2u);
  EXPECT_EQ(wanted[0].precondition, Precondition::Revision);
  EXPECT_EQ(wanted[0].revision, 9);
  EXPECT_EQ(wanted[1].precondition, Precondition::Revision);
  EXPECT_EQ(wanted[1].revision, 10) << "it may have renewed since we looked";
}

TEST(Tenure, AHolderStopsAtTwoThirdsOfItsLeaseCountedFromWhenItAsked) {
  Tenure tenure = make();
  tenure.saw({}, kStart);

  tenure.took(11, kStart);

  EXPECT_TRUE(tenure.held(kStart + 3999ms));
  EXPECT_FALSE(tenure.held(kStart + 4s));
  EXPECT_TRUE(tenure.ours()) << "it may renew";
  tenure.renewed(12, kStart + 5s);
  EXPECT_TRUE(tenure.held(kStart + 8s));
}

TEST(Tenure, TheCheckStaysTheSameWhileItRenews) {
  Tenure tenure = make();
  tenure.saw({}, kStart);
  tenure.took(11, kStart);
  const Operation before = tenure.check();

  tenure.renewed(12, kStart + 1s);

  EXPECT_EQ(tenure.check(), before);
  EXPECT_EQ(before.type, Operation::Type::Check);
  EXPECT_EQ(before.key, kTasksKey);
  EXPECT_EQ(before.revision, 11);
  EXPECT_EQ(tenure.renewal()[0], before);
  EXPECT_EQ(tenure.renewal()[1].revision, 12);
}

TEST(Tenure, WhoWasReplacedWhileItSleptHoldsNothing) {
  Tenure tenure = make();
  tenure.saw({}, kStart);
  tenure.took(11, kStart);

  EXPECT_FALSE(tenure.held(kStart + 1min));
  tenure.doubt();
  EXPECT_FALSE(tenure.ours());
  tenure.saw({.taken = 20, .beat = 25, .holder = "b"}, kStart + 1min);

  EXPECT_FALSE(tenure.ours());
  EXPECT_TRUE(tenure.take(kStart + 1min).empty());
  EXPECT_EQ(tenure.holder(), "b");
}

TEST(Tenure, ARenewalWhoseAnswerWasLostCostsNothing) {
  Tenure tenure = make();
  tenure.saw({}, kStart);
  tenure.took(11, kStart);
  tenure.doubt();  // the beat had moved: by our own hand

  tenure.saw({.taken = 11, .beat = 14, .holder = "a"}, kStart + 1s);

  EXPECT_TRUE(tenure.ours());
  EXPECT_EQ(tenure.renewal()[1].revision, 14);
}

TEST(Tenure, AHolderOfTheSameNameFromAnEarlierLifeIsAnother) {
  Tenure tenure = make("a");

  tenure.saw({.taken = 9, .beat = 10, .holder = "a"}, kStart);

  EXPECT_FALSE(tenure.ours());
  EXPECT_TRUE(tenure.take(kStart + 1s).empty());
}

TEST(Tenure, AHolderThatGaveUpIsReplacedAtOnce) {
  Tenure holder = make("b");
  holder.saw({}, kStart);
  holder.took(11, kStart);
  const std::vector<Operation> release = holder.release();
  EXPECT_EQ(release[0], holder.check());
  EXPECT_EQ(release[1].type, Operation::Type::Delete);
  Tenure tenure = make("a");

  tenure.saw({.taken = 11, .beat = 0, .holder = "b"}, kStart);

  EXPECT_EQ(tenure.take(kStart).size(), 2u);
  EXPECT_EQ(tenure.holder(), "");
}

}  // namespace
}  // namespace holdfast::api

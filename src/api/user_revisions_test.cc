#include "api/user_revisions.h"

#include <gtest/gtest.h>

namespace holdfast::api {
namespace {

TEST(UserRevisions, WhatIsOlderThanWhatIsKnownIsNoNews) {
  UserRevisions users;

  EXPECT_TRUE(users.advance("ann", 5, false));
  EXPECT_FALSE(users.advance("ann", 5, false)) << "read and followed";
  EXPECT_FALSE(users.advance("ann", 4, false));
  EXPECT_TRUE(users.advance("ann", 6, true));
  EXPECT_FALSE(users.advance("ann", 5, false)) << "read before it was deleted";
  EXPECT_TRUE(users.advance("ann", 7, false)) << "made again";
  EXPECT_TRUE(users.advance("bob", 3, false));
}

TEST(UserRevisions, DeletedUsersDoNotAddUp) {
  UserRevisions users(10);
  EXPECT_TRUE(users.advance("stays", 1, false));

  for (int i = 1; i <= 1'000; ++i) {
    const std::string name = "user" + std::to_string(i);
    EXPECT_TRUE(users.advance(name, 2 * i, false));
    EXPECT_TRUE(users.advance(name, 2 * i + 1, true));
  }

  EXPECT_EQ(users.size(), 11U);
  EXPECT_FALSE(users.advance("user1", 2, false)) << "forgotten, and yet not believed";
  EXPECT_FALSE(users.advance("user1000", 2'000, false));
  EXPECT_FALSE(users.advance("stays", 1, false));
  EXPECT_TRUE(users.advance("new", 3'000, false));
}

TEST(UserRevisions, ManyMayGoInOneRevision) {
  UserRevisions users(10);

  for (int i = 0; i < 100; ++i) {
    const std::string name = "user" + std::to_string(i);
    EXPECT_TRUE(users.advance(name, i + 1, false));
  }
  for (int i = 0; i < 100; ++i) users.advance("user" + std::to_string(i), 200, true);

  EXPECT_EQ(users.size(), 10U);
}

TEST(UserRevisions, OneThatIsMadeAgainIsNotForgottenWithItsDeletion) {
  UserRevisions users(1);
  users.advance("ann", 1, true);
  users.advance("ann", 2, false);

  users.advance("bob", 3, true);
  users.advance("eve", 4, true);

  EXPECT_EQ(users.size(), 2U) << "ann and eve";
  EXPECT_FALSE(users.advance("ann", 2, false));
}

}  // namespace
}  // namespace holdfast::api

#include "cli/target.h"

#include <gtest/gtest.h>

namespace holdfast::cli {
namespace {

TEST(Target, EverySpellingNamesTheSame) {
  for (const char* spelling : {"service/web", "services/web", "svc/web"}) {
    const auto target = parse_target(spelling, {});
    ASSERT_TRUE(target) << spelling;
    EXPECT_EQ(target->kind, resource::Kind::Service);
    EXPECT_EQ(target->names, std::vector<std::string>{"web"});
  }
  EXPECT_EQ(parse_target("svc/a", {"b"})->names, (std::vector<std::string>{"a", "b"}));
}

TEST(Target, WhatIsWrongDecidesTheExit) {
  EXPECT_EQ(parse_target("sevrice", {}).error().exit, Exit::Usage);
  EXPECT_EQ(parse_target("service/", {}).error().exit, Exit::Usage);
  EXPECT_EQ(parse_target("service", {"a/b"}).error().exit, Exit::BadInput);
  EXPECT_EQ(parse_target("service", {"\xff"}).error().exit, Exit::BadInput);
}

}  // namespace
}  // namespace holdfast::cli

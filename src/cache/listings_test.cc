#include "cache/listings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "resource/registry.h"

namespace holdfast::cache {
namespace {

using namespace std::chrono_literals;
using resource::Kind;
using testing::ElementsAre;

class ListingsTest : public testing::Test {
 protected:
  void put(const std::string& name, const std::string& zone = "") {
    v1::Resource made = resource::make_resource(Kind::Agent, name);
    if (!zone.empty()) (*made.mutable_metadata()->mutable_labels())["zone"] = zone;
    view_.items.put(std::make_shared<const v1::Resource>(std::move(made)));
    view_.revision += 1;
  }
  v1::ListResponse page(uint32_t size, const std::string& token = "", Time now = Time()) {
    request_.set_page_size(size);
    request_.set_page_token(token);
    return listings_.page(view_, {.kind = Kind::Agent, .request = request_}, now).value();
  }
  static std::vector<std::string> names(const v1::ListResponse& response) {
    std::vector<std::string> all;
    for (const v1::Resource& one : response.resources()) all.push_back(one.metadata().name());
    return all;
  }

  KindView view_{.generation = 1, .revision = 10};
  v1::ListRequest request_;
  Listings listings_{{.default_page_size = 4, .max_page_size = 5, .max_page_bytes = 1'000}};
};

TEST_F(ListingsTest, ShowsEveryNameOnceInOrder) {
  for (const char* name : {"d", "b", "e", "a", "c"}) put(name);

  const v1::ListResponse first = page(2);
  const v1::ListResponse second = page(2, first.next_page_token());
  const v1::ListResponse third = page(2, second.next_page_token());

  EXPECT_THAT(names(first), ElementsAre("a", "b"));
  EXPECT_THAT(names(second), ElementsAre("c", "d"));
  EXPECT_THAT(names(third), ElementsAre("e"));
  EXPECT_EQ(third.next_page_token(), "");
  EXPECT_EQ(first.revision(), 15);
  EXPECT_EQ(third.revision(), 15);
}

TEST_F(ListingsTest, AllPagesShowTheMomentOfTheFirst) {
  for (const char* name : {"a", "b", "c"}) put(name);

  const v1::ListResponse first = page(2);
  put("bb");
  view_.items.erase("c");
  const v1::ListResponse second = page(2, first.next_page_token());

  EXPECT_THAT(names(second), ElementsAre("c"));
  EXPECT_EQ(second.page_revision(), first.page_revision());
  EXPECT_THAT(names(page(5)), ElementsAre("a", "b", "bb")) << "a new listing shows what is new";
}

TEST_F(ListingsTest, TwoWhoReadAtOnceDoNotDisturbEachOther) {
  for (const char* name : {"a", "b", "c"}) put(name);
  const v1::ListResponse first = page(2);
  put("bb");
  const v1::ListResponse other = page(2);

  const v1::ListResponse second = page(2, first.next_page_token());
  const v1::ListResponse other_second = page(2, other.next_page_token());

  EXPECT_THAT(names(second), ElementsAre("c"));
  EXPECT_EQ(second.page_revision(), first.page_revision());
  EXPECT_THAT(names(other_second), ElementsAre("bb", "c"));
  EXPECT_EQ(listings_.dropped(), 0u);
}

TEST_F(ListingsTest, WhenFullTheOneAskedForLongestAgoGoes) {
  for (const char* name : {"a", "b", "c"}) put(name);
  std::vector<std::string> tokens;
  for (int i = 0; i < 4; ++i) {
    tokens.push_back(page(1, "", Time(i * 1s)).next_page_token());
    put("z" + std::to_string(i));
  }
  EXPECT_EQ(listings_.size(), 4u);
  (void)page(1, tokens[0], Time(5s));

  (void)page(1, "", Time(6s));

  EXPECT_EQ(listings_.size(), 4u);
  EXPECT_EQ(listings_.dropped(), 1u);
  EXPECT_EQ(page(5, tokens[0], Time(7s)).resources_size(), 2) << "b and c, as it was";
  EXPECT_EQ(page(5, tokens[1], Time(7s)).resources_size(), 5) << "this one begins anew";
}

TEST_F(ListingsTest, OnesThatWereReadToTheirEndGoFirst) {
  for (const char* name : {"a", "b", "c"}) put(name);
  const std::string token = page(1, "", Time(0s)).next_page_token();
  for (int i = 1; i <= 8; ++i) {
    put("z");
    (void)page(5, "", Time(i * 1ms));  // whole
  }

  EXPECT_EQ(page(5, token, Time(1s)).resources_size(), 2) << "b and c, as it was";
  EXPECT_EQ(listings_.dropped(), 0u);
}

TEST_F(ListingsTest, WhatIsNoLongerKeptIsFreedInSlices) {
  for (const char* name : {"a", "b", "c"}) put(name);
  const std::weak_ptr<const v1::Resource> gone = view_.items.share("b");
  (void)page(5);
  view_.items = {};
  listings_.on_tick(Time(10s));
  EXPECT_EQ(listings_.size(), 0u);

  EXPECT_FALSE(listings_.reclaim(1));
  EXPECT_TRUE(listings_.reclaim(100));
  EXPECT_TRUE(gone.expired());
}

TEST_F(ListingsTest, GoesOnWithWhatThereIsIfItsMomentIsForgotten) {
  for (const char* name : {"a", "b", "c"}) put(name);
  const v1::ListResponse first = page(2);
  put("d");
  listings_.on_tick(Time(10s));
  EXPECT_EQ(listings_.size(), 0u);

  const v1::ListResponse second = page(2, first.next_page_token(), Time(10s));

  EXPECT_THAT(names(second), ElementsAre("c", "d"));
  EXPECT_EQ(second.revision(), 13) << "watch from here and nothing is missed";
  EXPECT_EQ(second.page_revision(), 14);
}

TEST_F(ListingsTest, IsKeptWhileSomeoneTurnsItsPages) {
  put("a");
  (void)page(1, "", Time(8s));

  listings_.on_tick(Time(17s));
  EXPECT_EQ(listings_.size(), 1u);
  listings_.on_tick(Time(18s));
  EXPECT_EQ(listings_.size(), 0u);
}

TEST_F(ListingsTest, ShowsOnlyWhatTheLabelsMatch) {
  put("a", "x");
  put("b", "y");
  put("c", "x");
  (*request_.mutable_labels())["zone"] = "x";

  const v1::ListResponse first = page(1);
  const v1::ListResponse second = page(1, first.next_page_token());

  EXPECT_THAT(names(first), ElementsAre("a"));
  EXPECT_THAT(names(second), ElementsAre("c"));
}

TEST_F(ListingsTest, PagesHaveLimits) {
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g"}) put(name);
  EXPECT_EQ(page(0).resources_size(), 4) << "the default";
  EXPECT_EQ(page(100).resources_size(), 5) << "the most";

  put("aa" + std::string(2'000, 'x'));
  EXPECT_THAT(page(5).resources_size(), 2) << "a page ends early when it is large";
}

TEST_F(ListingsTest, APageEndsWhereItsRevisionDoes) {
  for (const char* name : {"a", "b", "c", "d"}) put(name);
  Coverage pages;
  pages.add("a", "b", 20, /*exact=*/true);
  pages.add_last("c", 30);
  view_.ahead = std::make_shared<const Coverage>(pages);

  const v1::ListResponse first = page(5);
  const v1::ListResponse second = page(5, first.next_page_token());

  EXPECT_THAT(names(first), ElementsAre("a", "b"));
  EXPECT_EQ(first.page_revision(), 20);
  EXPECT_EQ(first.up_to(), "b");
  EXPECT_THAT(names(second), ElementsAre("c", "d"));
  EXPECT_EQ(second.page_revision(), 30);
  EXPECT_EQ(second.up_to(), "") << "it tells of all that follow";
  EXPECT_EQ(second.revision(), 14);
}

TEST_F(ListingsTest, PagesThatDoNotSayUpToWhereTheyLookedAreListedToTheirEnd) {
  for (const char* name : {"a", "b", "c", "d"}) put(name);
  Coverage pages;
  pages.add("a", "b", 20, /*exact=*/false);
  pages.add_last("c", 30);
  view_.ahead = std::make_shared<const Coverage>(pages);
  put("bb");  // an event after 20 between the pages

  std::vector<std::string> seen;
  std::string token;
  int count = 0;
  do {
    const v1::ListResponse one = page(5, token);
    for (const std::string& name : names(one)) seen.push_back(name);
    v1::ListResponse other_side;
    ASSERT_TRUE(other_side.ParseFromString(one.SerializeAsString())) << "it is not text";
    token = other_side.next_page_token();
  } while (!token.empty() && ++count < 10);

  EXPECT_THAT(seen, ElementsAre("a", "b", "bb", "c", "d"));
  EXPECT_EQ(token, "");
}

TEST_F(ListingsTest, SaysUpToWhichNameAPageTells) {
  put("a", "x");
  put("b", "y");
  put("c", "x");
  (*request_.mutable_labels())["zone"] = "x";

  const v1::ListResponse first = page(1);

  EXPECT_EQ(first.up_to(), "a");
  EXPECT_EQ(page(1, first.next_page_token()).up_to(), "");
}

TEST_F(ListingsTest, RefusesTokensItNeverGave) {
  put("a");
  for (const char* token : {"x", "7", "7:", ":a", "seven:a", "99999999999999999999:a"}) {
    request_.set_page_token(token);

    const auto refused = listings_.page(view_, {.kind = Kind::Agent, .request = request_}, Time());

    EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument) << token;
  }
}

TEST_F(ListingsTest, HidesSecretsFromThoseWhoMayNotSeeThem) {
  v1::Resource user = resource::make_resource(Kind::User, "ann");
  user.mutable_user()->set_password_hash("hash");
  view_.items.put(std::make_shared<const v1::Resource>(user));

  const auto shown = listings_.page(view_, {.kind = Kind::User, .request = request_}, Time());
  const auto hidden = listings_.page(
      view_, {.kind = Kind::User, .request = request_, .hide_secrets = true}, Time());

  EXPECT_EQ(shown->resources(0).user().password_hash(), "hash");
  EXPECT_EQ(hidden->resources(0).user().password_hash(), "");
}

}  // namespace
}  // namespace holdfast::cache

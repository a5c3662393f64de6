// What a losing half wrote is kept whole, and what took rights away is done again.
#include "ha/quarantine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/reason.h"

namespace holdfast::ha {
namespace {

using store::Change;
using store::Entry;
using store::Operation;
using testing::ElementsAre;
using testing::HasSubstr;
using Type = Revocation::Type;

Change put(std::string key, std::string value) {
  Change change;
  change.item = {.key = std::move(key), .value = std::move(value), .created_revision = 7};
  return change;
}
Change removed(std::string key) {
  Change change{.type = Change::Type::Delete, .item = {}};
  change.item.key = std::move(key);
  return change;
}
Entry entry(store::Revision revision, std::vector<Change> changes) {
  for (Change& change : changes) change.item.revision = revision;
  return {.head = {2, revision, static_cast<uint64_t>(revision) * 77},
          .changes = std::move(changes)};
}

// In these tests a user whose value begins with "no" is disabled.
RevocationRules rules() {
  return {.is_disabled = [](std::string_view, std::string_view v) { return v.starts_with("no"); },
          .disable = [](std::string_view, const std::string& v) -> std::optional<std::string> {
            if (v == "broken") return std::nullopt;
            return "no " + v;
          }};
}

Quarantine sample() {
  Change lease = put("/capacity-lease/\"x\"\n\xff", std::string("\0\x01\xfe", 3));
  lease.item.expires = WallTime(std::chrono::milliseconds(1234567));
  return make_quarantine(
      {.node = "edge-a",
       .store_id = "aa",
       .at = WallTime(std::chrono::milliseconds(1'700'000'000'000)),
       .fork = 10,
       .head = {2, 13, 99},
       .winner = 3,
       .acknowledged = true},
      {entry(9, {put("/service/old", "x")}), entry(11, {put("/service/web", ""), lease}),
       entry(12, {removed("/token/ci"), put("/user/eve", "no access")}),
       entry(13, {put("/user/bob", "yes"), removed("/service/db")})});
}

TEST(Quarantine, HoldsWhatIsAfterTheFork) {
  const Quarantine quarantine = sample();
  EXPECT_EQ(quarantine.entries.size(), 3U);
  EXPECT_EQ(quarantine.header.entries, 3U);
  EXPECT_EQ(quarantine.header.left_out, 0U);
}

// A crash of the active half: the other took over by the rules, so it has all that was
// acknowledged.
TEST(Acknowledged, NotWhatALastTenureHadOnOneDiskAlone) {
  const store::ReplicaFacts mine{.head = {7, 30, 1}, .tenures = {{1, 1}, {5, 10}, {7, 20}}};
  const store::ReplicaFacts winner{.head = {8, 29, 1},
                                   .tenures = {{1, 1}, {5, 10}, {7, 20}, {8, 29}}};
  EXPECT_FALSE(may_be_acknowledged(mine, winner, 28, 5));
  EXPECT_TRUE(may_be_acknowledged(mine, winner, 28, 7)) << "it was alone then";
  EXPECT_TRUE(may_be_acknowledged(mine, winner, 28, UINT64_MAX)) << "nobody knows";
}

// Its disk was emptied, or put back to an older state: both had it when clients were told.
TEST(Acknowledged, WhateverAForcedPromotionTakesBack) {
  const store::ReplicaFacts mine{.head = {7, 30, 1}, .tenures = {{5, 1}, {7, 20}}};
  EXPECT_TRUE(may_be_acknowledged(
      mine, {.head = {1008, 29, 1}, .tenures = {{5, 1}, {7, 20}, {1008, 29}}}, 28, 0));
  EXPECT_TRUE(may_be_acknowledged(
      mine, {.head = {1011, 50, 1}, .tenures = {{5, 1}, {7, 20}, {1008, 29}, {1011, 40}}}, 28, 0))
      << "and switched since";
  const store::ReplicaFacts one{.head = {7, 30, 1}, .tenures = {{7, 1}}};
  EXPECT_TRUE(may_be_acknowledged(one, {.head = {1002, 1, 1}, .tenures = {{1002, 1}}}, 0, 0));
  EXPECT_TRUE(may_be_acknowledged(one, {.head = {}, .tenures = {{1002, 0}}}, 0, 0));
  EXPECT_TRUE(may_be_acknowledged(one, {.head = {1011, 90, 1}, .tenures = {{1011, 80}}}, 0, 0))
      << "its beginning is forgotten";
}

// What both lived through is no sign of what came after.
TEST(Acknowledged, AnEarlierPromotionThatBothHaveDoesNotCount) {
  const store::ReplicaFacts mine{.head = {1009, 30, 1},
                                 .tenures = {{7, 1}, {1008, 10}, {1009, 20}}};
  EXPECT_FALSE(may_be_acknowledged(
      mine, {.head = {1010, 29, 1}, .tenures = {{7, 1}, {1008, 10}, {1009, 20}, {1010, 29}}}, 28,
      1008));
}

// A tail that nobody was told of is of one tenure: the next begins with all of it on both disks.
TEST(Acknowledged, WhateverIsOfMoreThanOneTenure) {
  const store::ReplicaFacts mine{.head = {7, 30, 1}, .tenures = {{5, 1}, {7, 20}}};
  const store::ReplicaFacts winner{.head = {8, 16, 1}, .tenures = {{5, 1}, {8, 16}}};
  EXPECT_TRUE(may_be_acknowledged(mine, winner, 15, 0));
}

TEST(Quarantine, WhatWasForgottenBeforeIsCounted) {
  const Quarantine quarantine =
      make_quarantine({.fork = 10, .head = {2, 15, 1}}, {entry(15, {put("/service/a", "x")})});
  EXPECT_EQ(quarantine.header.entries, 5U);
  EXPECT_EQ(quarantine.header.left_out, 4U);
}

TEST(Quarantine, ComesBackFromItsFileUnchanged) {
  const Result<Quarantine> back = parse_quarantine(to_text(sample()));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*back, sample());
}

TEST(Quarantine, TheFileIsBoundedAndSaysWhatItLacks) {
  const size_t whole = to_text(sample()).size();
  for (size_t max = 400; max < whole; max += 50) {
    const std::string text = to_text(sample(), {.max_bytes = max});
    EXPECT_LE(text.size(), max);
    const Result<Quarantine> back = parse_quarantine(text);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(back->entries.size() + back->header.left_out, 3U);
    EXPECT_GE(back->header.left_out, 1U);
  }
}

TEST(Quarantine, ABrokenFileIsNotTakenForAWholeOne) {
  const std::string text = to_text(sample());
  for (size_t size = 0; size < text.size(); ++size) {
    const Result<Quarantine> back = parse_quarantine(text.substr(0, size));
    ASSERT_FALSE(back.ok()) << size;
    EXPECT_EQ(split_reason(back.status()).code, "HF4116");
  }
  EXPECT_FALSE(parse_quarantine(text, {.max_bytes = 100}).ok());
  EXPECT_FALSE(parse_quarantine(text, {.max_line_bytes = 50}).ok());
}

TEST(Quarantine, BytesThatAreNoJsonAreRefused) {
  std::string text = to_text(sample());
  for (size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    changed[at] = '}';
    // Some places hold any text; none may crash or hang.
    const Result<Quarantine> back = parse_quarantine(changed);
    if (!back.ok()) {
      EXPECT_EQ(back.status().code(), absl::StatusCode::kDataLoss);
    }
  }
}

TEST(Quarantine, RemovalsAndDisabledUsersAreDoneAgainAndGrantsAreNot) {
  EXPECT_THAT(revocations(sample(), rules()), ElementsAre(Revocation{Type::Remove, "/token/ci"},
                                                          Revocation{Type::Disable, "/user/eve"}));
}

TEST(Quarantine, WhatWasRemovedAndMadeAnewIsStillRemoved) {
  const Quarantine quarantine = make_quarantine(
      {.fork = 1, .head = {2, 4, 1}},
      {entry(2, {put("/user/eve", "no")}), entry(3, {removed("/user/eve"), removed("/role/ops")}),
       entry(4, {put("/user/eve", "yes"), put("/role/ops", "all")})});
  EXPECT_THAT(revocations(quarantine, rules()), ElementsAre(Revocation{Type::Remove, "/role/ops"},
                                                            Revocation{Type::Remove, "/user/eve"}));
}

TEST(Quarantine, ARevocationIsConditionalOnWhatIsThereNow) {
  const store::Item item{.key = "/user/eve", .value = "yes", .revision = 44};
  const auto remove = to_operation({Type::Remove, "/user/eve"}, item, rules());
  ASSERT_TRUE(remove);
  EXPECT_EQ(remove->type, Operation::Type::Delete);
  EXPECT_EQ(remove->precondition, store::Precondition::Revision);
  EXPECT_EQ(remove->revision, 44);
  const auto disable = to_operation({Type::Disable, "/user/eve"}, item, rules());
  ASSERT_TRUE(disable);
  EXPECT_EQ(disable->type, Operation::Type::Put);
  EXPECT_EQ(disable->value, "no yes");
}

TEST(Quarantine, NothingIsDoneTwiceOrToWhatIsGone) {
  const store::Item disabled{.key = "/user/eve", .value = "no", .revision = 44};
  EXPECT_FALSE(to_operation({Type::Disable, "/user/eve"}, disabled, rules()));
  EXPECT_FALSE(to_operation({Type::Disable, "/user/eve"}, std::nullopt, rules()));
  EXPECT_FALSE(to_operation({Type::Remove, "/user/eve"}, std::nullopt, rules()));
}

TEST(Quarantine, AUserThatCannotBeReadIsRemovedInsteadOfDisabled) {
  const store::Item broken{.key = "/user/eve", .value = "broken", .revision = 4};
  const auto operation = to_operation({Type::Disable, "/user/eve"}, broken, rules());
  ASSERT_TRUE(operation);
  EXPECT_EQ(operation->type, Operation::Type::Delete);
}

TEST(Quarantine, AnOperatorSeesKeysAndNoValues) {
  const std::vector<std::string> lines = to_lines(sample(), 100);
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_EQ(lines[0], "revision 11: put /service/web");
  EXPECT_EQ(lines[2], "revision 12: removed /token/ci");
  for (const std::string& line : lines) EXPECT_THAT(line, testing::Not(HasSubstr("access")));
  EXPECT_EQ(to_lines(sample(), 2).back(), "and 4 more");
  EXPECT_THAT(summary(sample()), HasSubstr("6 changes of edge-a after revision 10"));
  EXPECT_THAT(summary(sample()), HasSubstr(", may have been acknowledged to clients, "));
}

}  // namespace
}  // namespace holdfast::ha

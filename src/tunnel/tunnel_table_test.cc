// The rules for a proxy's tunnels, and where each is shown:
//
// - several per agent, oldest to newest             KeepsSeveralTunnelsOfAnAgentInOrderOfAge
// - newest to oldest, not before it was heard from  SelectsTheNewestTunnelThatWasHeardFrom
// - the first valid one, else the newest invalid    PrefersAnOlderValidTunnelToASilentOne,
//                                                   ASilentTunnelIsBetterThanNone
// - one that is leaving is never taken              ATunnelThatIsLeavingTakesNoStreams
// - silence makes invalid, a frame makes valid      SilenceInvalidatesAndAFrameRevives
// - closed after more silence, not with streams     ClosesSilentTunnelsOnlyWithoutStreams
// - a failed open that proves death                 AFailedStreamInvalidatesAndClosesIfUnused
// - what peers are told                             tests named Holding...
#include "tunnel/tunnel_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/reason.h"
#include "tunnel/exposed_facts.h"
#include "tunnel/frame.h"

namespace holdfast::tunnel {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;
using testing::UnorderedElementsAre;

v1::Exposed exposing(const std::string& service) {
  v1::Exposed exposed;
  v1::ExposedService& added = *exposed.add_services();
  added.set_service(service);
  added.set_healthy(true);
  return exposed;
}

struct Told {
  bool full = false;
  bool more = false;
  std::vector<std::string> agents{};
  std::vector<std::string> gone{};
};

class TunnelTableTest : public testing::Test {
 protected:
  TunnelId add(const std::string& agent, uint64_t boot = 1) {
    const Result<TunnelId> id =
        table_.add({.agent = agent, .zone = "a", .boot = boot, .exposed = exposing("web")}, now_);
    EXPECT_TRUE(id.ok()) << id.status();
    return id.value_or(0);
  }
  TunnelId add_heard(const std::string& agent, uint64_t boot = 1) {
    const TunnelId id = add(agent, boot);
    table_.heard(id, now_);
    return id;
  }
  std::vector<TunnelId> advance(Duration by) {
    now_ += by;
    return table_.on_tick(now_);
  }
  size_t reachable(const std::string& service = "web") {
    return routes_.choose(service, {}, 9).size();
  }
  std::optional<Told> told(TunnelTable::Cursor& cursor, size_t max_bytes = 60'000) {
    const std::optional<v1::Holding> holding = table_.next_holding(cursor, max_bytes);
    if (!holding) return std::nullopt;
    EXPECT_LE(holding->ByteSizeLong(), max_bytes);
    Told told{.full = holding->full(), .more = holding->more()};
    for (const v1::HeldAgent& agent : holding->agents()) told.agents.push_back(agent.name());
    told.gone.assign(holding->gone().begin(), holding->gone().end());
    return told;
  }

  Time now_{1000s};
  route::Routes routes_{"a"};
  TunnelTable table_{{.max_tunnels = 100, .max_per_agent = 3, .max_gone = 4}, routes_};
};

TEST_F(TunnelTableTest, WhenACopyOfAnAgentGoesWhatTheAgentSaidCountsAgain) {
  add_heard("edge", 1);
  const Result<TunnelId> copy =
      table_.add({.agent = "edge", .zone = "a", .boot = 2, .exposed = exposing("other")}, now_);
  ASSERT_TRUE(copy.ok()) << copy.status();
  table_.heard(*copy, now_);
  ASSERT_EQ(reachable("web"), 0u);

  table_.leave(*copy);
  EXPECT_EQ(reachable("web"), 1u);
  table_.remove(*copy);

  EXPECT_EQ(reachable("web"), 1u);
  EXPECT_EQ(reachable("other"), 0u);
}

TEST_F(TunnelTableTest, KeepsSeveralTunnelsOfAnAgentInOrderOfAge) {
  const TunnelId first = add("one");
  add("two");
  const TunnelId second = add("one");

  const std::vector<TunnelRow> rows = table_.of("one");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].id, first);
  EXPECT_EQ(rows[1].id, second);
  table_.remove(first);
  EXPECT_EQ(table_.of("one").size(), 1U);
  EXPECT_EQ(table_.tunnel_count(), 2U);
}

TEST_F(TunnelTableTest, SelectsTheNewestTunnelThatWasHeardFrom) {
  EXPECT_EQ(table_.select("one"), std::nullopt);
  const TunnelId first = add_heard("one");
  const TunnelId second = add("one");
  EXPECT_THAT(table_.select("one"), Optional(first));

  table_.heard(second, now_);
  EXPECT_THAT(table_.select("one"), Optional(second));
  table_.remove(second);
  EXPECT_THAT(table_.select("one"), Optional(first));
}

TEST_F(TunnelTableTest, ATunnelNeverHeardFromIsNotEvenTheLastResort) {
  add("one");
  advance(7s);
  EXPECT_EQ(table_.select("one"), std::nullopt);
  EXPECT_EQ(reachable(), 0U);
}

TEST_F(TunnelTableTest, PrefersAnOlderValidTunnelToASilentOne) {
  const TunnelId older = add_heard("one");
  add_heard("one");
  now_ += 5s;
  table_.heard(older, now_);
  advance(2s);

  EXPECT_THAT(table_.select("one"), Optional(older));
  EXPECT_EQ(table_.stats().last_resort, 0U);
}

TEST_F(TunnelTableTest, ASilentTunnelIsBetterThanNone) {
  add_heard("one");
  const TunnelId newest = add_heard("one");
  advance(7s);

  EXPECT_THAT(table_.select("one"), Optional(newest));
  EXPECT_EQ(table_.stats().last_resort, 1U);
  EXPECT_EQ(reachable(), 1U);
}

TEST_F(TunnelTableTest, ATunnelThatIsLeavingTakesNoStreams) {
  const TunnelId older = add_heard("one");
  const TunnelId newer = add_heard("one");
  table_.leave(newer);
  EXPECT_THAT(table_.select("one"), Optional(older));
  EXPECT_EQ(reachable(), 1U);

  table_.leave(older);
  EXPECT_EQ(table_.select("one"), std::nullopt);
  EXPECT_EQ(reachable(), 0U);
}

TEST_F(TunnelTableTest, SilenceInvalidatesAndAFrameRevives) {
  const TunnelId id = add_heard("one");
  advance(6s - 1ns);
  EXPECT_TRUE(table_.find(id)->valid);
  advance(1ns);
  EXPECT_FALSE(table_.find(id)->valid);

  table_.heard(id, now_);
  EXPECT_TRUE(table_.find(id)->valid);
  EXPECT_EQ(table_.stats().revived, 1U);
  advance(5s);
  EXPECT_TRUE(table_.find(id)->valid);
}

TEST_F(TunnelTableTest, NewsOfAnOldFrameReviveNothing) {
  const TunnelId id = add_heard("one");
  const Time long_ago = now_;
  advance(6s);
  table_.heard(id, long_ago);
  EXPECT_FALSE(table_.find(id)->valid);
}

TEST_F(TunnelTableTest, ClosesSilentTunnelsOnlyWithoutStreams) {
  const TunnelId idle = add_heard("one");
  const TunnelId busy = add_heard("two");
  table_.stream_opened(busy);

  EXPECT_THAT(advance(18s - 1ns), IsEmpty());
  EXPECT_THAT(advance(1ns), ElementsAre(idle));
  table_.remove(idle);
  EXPECT_THAT(advance(10min), IsEmpty());
  table_.stream_closed(busy);
  EXPECT_THAT(advance(6s), ElementsAre(busy));
}

TEST_F(TunnelTableTest, AsksToBeWokenForEachSilenceAndNoSooner) {
  EXPECT_EQ(table_.next_deadline(), std::nullopt);
  const TunnelId id = add_heard("one");
  EXPECT_THAT(table_.next_deadline(), Optional(now_ + 6s));
  table_.heard(id, now_ + 4s);
  advance(6s);
  EXPECT_THAT(table_.next_deadline(), Optional(now_ + 4s));
  advance(4s);
  EXPECT_FALSE(table_.find(id)->valid);
  EXPECT_THAT(table_.next_deadline(), Optional(now_ + 12s));
}

TEST_F(TunnelTableTest, AChangedKeepaliveCountsForTunnelsThatAreThere) {
  const TunnelId id = add_heard("one");
  table_.set_silence(1s, 3s);
  advance(1s);
  EXPECT_FALSE(table_.find(id)->valid);
}

TEST_F(TunnelTableTest, AFailedStreamInvalidatesAndClosesIfUnused) {
  const TunnelId older = add_heard("one");
  const TunnelId newer = add_heard("one");
  table_.stream_opened(newer);

  EXPECT_FALSE(table_.found_dead(newer));
  EXPECT_THAT(table_.select("one"), Optional(older));
  table_.stream_closed(newer);
  EXPECT_TRUE(table_.found_dead(newer));
  EXPECT_EQ(table_.stats().invalidated, 1U);
}

TEST_F(TunnelTableTest, RefusesTunnelsBeyondItsLimits) {
  for (int i = 0; i < 3; ++i) add("one");
  const Result<TunnelId> fourth = table_.add({.agent = "one"}, now_);
  EXPECT_EQ(split_reason(fourth.status()).code, "HF2105");

  for (int i = 0; i < 97; ++i) add("agent-" + std::to_string(i));
  const Result<TunnelId> last = table_.add({.agent = "new"}, now_);
  EXPECT_EQ(split_reason(last.status()).code, "HF2104");
  EXPECT_EQ(table_.stats().refused_agent, 1U);
  EXPECT_EQ(table_.stats().refused_all, 1U);
  EXPECT_THAT(table_.of("new"), IsEmpty());
}

TEST_F(TunnelTableTest, TunnelsThatAreLeavingHaveALimitOfTheirOwn) {
  for (int i = 0; i < 64; ++i) table_.leave(add_heard("one"));
  EXPECT_EQ(split_reason(table_.add({.agent = "one"}, now_).status()).code, "HF2105");
  table_.remove(table_.of("one").front().id);
  for (int i = 0; i < 3; ++i) add("one");
  EXPECT_EQ(split_reason(table_.add({.agent = "one"}, now_).status()).code, "HF2105");
}

TEST_F(TunnelTableTest, CountsStreamsAndForgetsThoseOfATunnelThatIsGone) {
  const TunnelId id = add_heard("one");
  table_.stream_opened(id);
  table_.stream_opened(id);
  EXPECT_EQ(table_.stream_count(), 2U);
  table_.remove(id);
  EXPECT_EQ(table_.stream_count(), 0U);
  table_.stream_closed(id);
  EXPECT_EQ(table_.stream_count(), 0U);
}

TEST_F(TunnelTableTest, WhatTheNewestProcessExposesCounts) {
  const TunnelId before = add_heard("one", 1);
  const TunnelId after = add_heard("one", 2);
  table_.exposed(before, exposing("old"));
  EXPECT_EQ(reachable("old"), 0U);
  table_.exposed(after, exposing("new"));
  EXPECT_EQ(reachable("new"), 1U);
  EXPECT_EQ(reachable("web"), 0U);
}

TEST_F(TunnelTableTest, HoldingIsFirstAllAndThenWhatChanged) {
  add_heard("one");
  const TunnelId two = add_heard("two");
  add("unheard");
  TunnelTable::Cursor cursor;
  const std::optional<Told> all = told(cursor);
  ASSERT_TRUE(all);
  EXPECT_TRUE(all->full);
  EXPECT_FALSE(all->more);
  EXPECT_THAT(all->agents, ElementsAre("one", "two"));
  EXPECT_FALSE(told(cursor));

  add_heard("one");  // a second tunnel is no news
  EXPECT_FALSE(told(cursor));
  table_.leave(two);
  add_heard("three");
  const std::optional<Told> change = told(cursor);
  ASSERT_TRUE(change);
  EXPECT_FALSE(change->full);
  EXPECT_THAT(change->agents, ElementsAre("three"));
  EXPECT_THAT(change->gone, ElementsAre("two"));
  EXPECT_FALSE(told(cursor));
}

TEST_F(TunnelTableTest, HoldingTellsAnEmptyListToANewPeer) {
  TunnelTable::Cursor cursor;
  const std::optional<Told> all = told(cursor);
  ASSERT_TRUE(all);
  EXPECT_TRUE(all->full);
  EXPECT_THAT(all->agents, IsEmpty());
  EXPECT_FALSE(told(cursor));
}

TEST_F(TunnelTableTest, HoldingTellsWhoCameBackOnceAndAsHeld) {
  TunnelTable::Cursor cursor;
  const TunnelId id = add_heard("one");
  told(cursor);
  table_.remove(id);
  add_heard("one");

  const std::optional<Told> change = told(cursor);
  ASSERT_TRUE(change);
  EXPECT_THAT(change->agents, ElementsAre("one"));
  EXPECT_THAT(change->gone, IsEmpty());
}

TEST_F(TunnelTableTest, HoldingSplitsALongListAndMarksItsEnd) {
  for (int i = 0; i < 40; ++i) add_heard("agent-" + std::to_string(i));
  TunnelTable::Cursor cursor;
  std::set<std::string> seen;
  int messages = 0;
  for (std::optional<Told> part = told(cursor, 300); part; part = told(cursor, 300)) {
    EXPECT_EQ(part->full, messages == 0);
    seen.insert(part->agents.begin(), part->agents.end());
    EXPECT_EQ(part->more, seen.size() < 40);
    ++messages;
  }
  EXPECT_EQ(seen.size(), 40U);
  EXPECT_GT(messages, 3);
}

TEST_F(TunnelTableTest, HoldingEndsItsListThoughTheRestOfItHasLeft) {
  std::vector<TunnelId> ids;
  for (int i = 0; i < 20; ++i) ids.push_back(add_heard("agent-" + std::to_string(i)));
  TunnelTable::Cursor cursor;
  const std::optional<Told> begin = told(cursor, 300);
  ASSERT_TRUE(begin && begin->more);
  // The last ones leave; with them departures are forgotten that the list does not need.
  for (size_t i = ids.size() - 3; i < ids.size(); ++i) table_.remove(ids[i]);
  for (size_t i = begin->agents.size(); i < ids.size() - 3; ++i) table_.exposed(ids[i], {});

  std::optional<Told> last;
  for (std::optional<Told> part = told(cursor, 300); part; part = told(cursor, 300)) last = part;
  ASSERT_TRUE(last);
  EXPECT_FALSE(last->more);
}

TEST_F(TunnelTableTest, HoldingBeginsAnewForAPeerThatMissedDepartures) {
  TunnelTable::Cursor cursor;
  std::vector<TunnelId> ids;
  for (int i = 0; i < 6; ++i) ids.push_back(add_heard("agent-" + std::to_string(i)));
  told(cursor);
  for (int i = 0; i < 5; ++i) table_.remove(ids[i]);  // one more than is remembered

  const std::optional<Told> all = told(cursor);
  ASSERT_TRUE(all);
  EXPECT_TRUE(all->full);
  EXPECT_THAT(all->agents, ElementsAre("agent-5"));
  EXPECT_THAT(all->gone, IsEmpty());
  EXPECT_FALSE(told(cursor));
}

// The most that an agent may say: services of as many bytes as there may be in all, and labels.
TEST_F(TunnelTableTest, AllThatAnAgentMayExposeIsKeptAndFitsIntoOneMessageToPeers) {
  v1::Exposed exposed;
  for (size_t i = 0; i < kMaxExposedServices; ++i) {
    v1::ExposedService& service = *exposed.add_services();
    service.set_service(std::string(40, 'x') + std::to_string(1'000 + i));
    service.set_healthy(true);
  }
  for (size_t i = 0; i < kMaxExposedLabels; ++i) {
    (*exposed.mutable_labels())["y" + std::to_string(i)] = std::string(30, 'z');
  }
  ASSERT_TRUE(check_exposed(exposed).ok()) << check_exposed(exposed);

  const route::AgentFacts facts = facts_of({.name = "one", .zone = "a"}, exposed);
  EXPECT_EQ(facts.healthy.size(), kMaxExposedServices);
  EXPECT_EQ(facts.labels.size(), kMaxExposedLabels);
  EXPECT_LT(to_held(facts).ByteSizeLong(), kMaxMessageBytes - 2'048);
  EXPECT_EQ(facts_of({.name = "one", .zone = "a"}, to_held(facts).exposed()), facts);

  exposed.add_services()->set_service("one more");
  EXPECT_EQ(split_reason(check_exposed(exposed)).code, "HF2109");
}

// Reasons come on top of the names, so they are the first to go.
TEST_F(TunnelTableTest, WhyServicesAreUnhealthyIsPassedOnWithinBounds) {
  v1::Exposed exposed;
  for (size_t i = 0; i < kMaxExposedServices; ++i) {
    v1::ExposedService& service = *exposed.add_services();
    service.set_service(std::string(40, 'x') + std::to_string(1'000 + i));
    service.set_reason(i == 0 ? "a\x1b[2Jb" : std::string(kMaxExposedReason, 'r'));
  }
  ASSERT_TRUE(check_exposed(exposed).ok()) << check_exposed(exposed);

  const route::AgentFacts facts = facts_of({.name = "one", .zone = "a"}, exposed);
  size_t bytes = 0;
  for (const auto& [service, reason] : facts.unhealthy) bytes += reason.size();

  EXPECT_THAT(facts.healthy, IsEmpty());
  EXPECT_EQ(facts.unhealthy.size(), kMaxExposedServices);
  EXPECT_EQ(facts.unhealthy.begin()->second, "a\\x1b[2Jb");
  EXPECT_GT(bytes, kMaxKeptReasons / 2);
  EXPECT_LE(bytes, kMaxKeptReasons);
  EXPECT_LT(to_held(facts).ByteSizeLong(), kMaxMessageBytes - 2'048);
  EXPECT_EQ(facts_of({.name = "one", .zone = "a"}, to_held(facts).exposed()).unhealthy.size(),
            kMaxExposedServices);
}

TEST_F(TunnelTableTest, NamesThatAreTooLongTogetherAreRefusedWithTheNumbers) {
  v1::Exposed exposed;
  for (int i = 0; i < 300; ++i) exposed.add_services()->set_service(std::string(200, 'x'));
  const Status refused = check_exposed(exposed);
  EXPECT_EQ(split_reason(refused).code, "HF2109");
  EXPECT_THAT(std::string(refused.message()), testing::HasSubstr("60000 bytes, of 48000"));
}

}  // namespace
}  // namespace holdfast::tunnel

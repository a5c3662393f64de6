// The rules for discovery, and where each is shown:
//
// - the first message is full, at once              ANewTunnelIsToldOfAllAtOnce
// - later ones: only those heard from since         LaterOnesAreToldOnlyWhoWasHeardFrom
// - a heartbeat is another value, nothing else      AnEntryWithTheSameHeartbeatIsNoNews
// - the local time of hearing counts                WhoWasNotHeardFromWithinTheTtlIsNotMentioned
// - the sender's TTL for all                        EveryProxyIsToldWithTheTtlOfTheSender,
//                                                   AShorterTtlIsToldToAllBeforeItEnds
// - nothing to tell: nothing is sent                LaterOnesAre...,
// WithNobodyToTellOfNothingIsSent
// - resync: min(2 min, 2/3 TTL)                     ResyncsOftenEnoughThatNobodyExpires
// - no per-agent buffers, one encoding for all      ManyTunnelsShareOneEncoding
// - a proxy that is gone is never told as gone      ADeletedEntryIsNoLongerMentioned
// - a live peer link counts, without controllers    APeerLinkCountsWithoutHeartbeats
#include "tunnel/discovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "resource/proto_time.h"

namespace holdfast::tunnel {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class DiscoveryTest : public testing::Test {
 protected:
  DiscoveryTest() { discovery_.set_self(facts("self"), now_); }

  static ProxyFacts facts(const std::string& name) {
    return {.name = name, .zone = "a", .tunnel_address = name + ":7444"};
  }
  void beat(const std::string& name, int64_t heartbeat) {
    discovery_.entry({.facts = facts(name), .heartbeat = heartbeat}, now_);
  }
  std::vector<v1::Discovery> messages(Discovery::Cursor& cursor) {
    std::vector<v1::Discovery> result;
    for (const Discovery::Bytes& bytes : discovery_.take(cursor, now_)) {
      v1::TunnelMessage message;
      EXPECT_TRUE(message.ParseFromString(*bytes));
      EXPECT_LT(bytes->size(), 60'001U);
      result.push_back(message.discovery());
    }
    return result;
  }
  std::vector<std::string> told(Discovery::Cursor& cursor) {
    std::vector<std::string> names;
    for (const v1::Discovery& message : messages(cursor)) {
      for (const v1::DiscoveredProxy& proxy : message.proxies()) names.push_back(proxy.name());
    }
    return names;
  }
  void advance(Duration by) {
    now_ += by;
    discovery_.on_tick(now_);
  }

  Time now_{1000s};
  Discovery discovery_{{.self = "self", .ttl = 60s, .max_proxies = 2'000}, 7};
};

TEST_F(DiscoveryTest, ANewTunnelIsToldOfAllAtOnce) {
  beat("edge-2", 1);
  Discovery::Cursor cursor;
  const std::vector<v1::Discovery> first = messages(cursor);

  ASSERT_EQ(first.size(), 1U);
  EXPECT_TRUE(first[0].full());
  EXPECT_EQ(first[0].proxies_size(), 2);
}

TEST_F(DiscoveryTest, LaterOnesAreToldOnlyWhoWasHeardFrom) {
  beat("edge-2", 1);
  beat("edge-3", 1);
  Discovery::Cursor cursor;
  messages(cursor);
  EXPECT_THAT(told(cursor), IsEmpty());

  beat("edge-3", 2);
  const std::vector<v1::Discovery> next = messages(cursor);
  ASSERT_EQ(next.size(), 1U);
  EXPECT_FALSE(next[0].full());
  ASSERT_EQ(next[0].proxies_size(), 1);
  EXPECT_EQ(next[0].proxies(0).name(), "edge-3");
  EXPECT_THAT(told(cursor), IsEmpty());
}

TEST_F(DiscoveryTest, AnEntryWithTheSameHeartbeatIsNoNews) {
  beat("edge-2", 5);
  Discovery::Cursor cursor;
  messages(cursor);
  beat("edge-2", 5);
  EXPECT_THAT(told(cursor), IsEmpty());
  beat("edge-2", 4);  // a clock that was set back beats all the same
  EXPECT_THAT(told(cursor), ElementsAre("edge-2"));
}

TEST_F(DiscoveryTest, WhoWasNotHeardFromWithinTheTtlIsNotMentioned) {
  beat("edge-2", 1);
  advance(60s - 1ns);
  Discovery::Cursor before;
  EXPECT_THAT(told(before), UnorderedElementsAre("edge-2", "self"));
  advance(1ns);
  Discovery::Cursor after;
  EXPECT_THAT(told(after), ElementsAre("self"));
}

TEST_F(DiscoveryTest, AnEntryMarkedOfflineIsNotHeardFrom) {
  discovery_.entry({.facts = facts("edge-2"), .heartbeat = 1, .offline = true}, now_);
  Discovery::Cursor cursor;
  EXPECT_THAT(told(cursor), ElementsAre("self"));
  beat("edge-2", 2);
  EXPECT_THAT(told(cursor), ElementsAre("edge-2"));
}

TEST_F(DiscoveryTest, EveryProxyIsToldWithTheTtlOfTheSender) {
  ProxyFacts other = facts("edge-2");
  other.group = "blue";
  other.generation = 7;
  discovery_.entry({.facts = other, .heartbeat = 1}, now_);
  Discovery::Cursor cursor;
  const std::vector<v1::Discovery> first = messages(cursor);
  ASSERT_EQ(first.size(), 1U);
  for (const v1::DiscoveredProxy& proxy : first[0].proxies()) {
    EXPECT_EQ(resource::to_duration(proxy.ttl()), 60s) << proxy.name();
    EXPECT_EQ(proxy.tunnel_address(), proxy.name() + ":7444");
    EXPECT_EQ(proxy.generation(), proxy.name() == "edge-2" ? 7U : 0U);
    EXPECT_EQ(proxy.group(), proxy.name() == "edge-2" ? "blue" : "");
  }
}

TEST_F(DiscoveryTest, AShorterTtlIsToldToAllBeforeItEnds) {
  beat("edge-2", 1);
  std::vector<Discovery::Cursor> cursors(100);
  for (Discovery::Cursor& cursor : cursors) messages(cursor);

  discovery_.set_ttl(6s, now_);

  EXPECT_EQ(discovery_.resync_interval(), 4s);
  EXPECT_LE(discovery_.next_deadline(), now_ + 2s) << "it hears from itself as often as it must";
  Discovery::Cursor fresh;
  EXPECT_EQ(resource::to_duration(messages(fresh).at(0).proxies(0).ttl()), 6s);
  std::set<Time> times;
  for (Discovery::Cursor& cursor : cursors) {
    messages(cursor);
    ASSERT_LE(*cursor.resync_at, now_ + 4s);
    times.insert(*cursor.resync_at);
  }
  EXPECT_GT(times.size(), 90U) << "not all at once";
  advance(4s);
  const std::vector<v1::Discovery> again = messages(cursors[0]);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_TRUE(again[0].full());
  EXPECT_EQ(resource::to_duration(again[0].proxies(0).ttl()), 6s);
  now_ += 2s;
  Discovery::Cursor late;
  EXPECT_THAT(told(late), ElementsAre("self")) << "edge-2 has been silent for as long";
}

TEST_F(DiscoveryTest, ALongerTtlLetsNobodyExpireMeanwhile) {
  Discovery::Cursor cursor;
  messages(cursor);
  const Time resync = *cursor.resync_at;

  discovery_.set_ttl(10min, now_);

  EXPECT_THAT(told(cursor), IsEmpty());
  EXPECT_EQ(cursor.resync_at, resync) << "agents were told of the shorter one";
  EXPECT_LE(discovery_.next_deadline(), now_ + 20s);
}

TEST_F(DiscoveryTest, WithNobodyToTellOfNothingIsSent) {
  Discovery silent({.self = "self"}, 1);
  Discovery::Cursor cursor;
  EXPECT_THAT(silent.take(cursor, now_), IsEmpty());
  EXPECT_THAT(silent.take(cursor, now_ + 10min), IsEmpty());
}

TEST_F(DiscoveryTest, ResyncsOftenEnoughThatNobodyExpires) {
  EXPECT_EQ(discovery_.resync_interval(), 40s);
  EXPECT_EQ(Discovery({.self = "self", .ttl = 10min}, 1).resync_interval(), 2min);

  Discovery::Cursor cursor;
  messages(cursor);
  Time last_full = now_;
  for (int i = 0; i < 600; ++i) {
    advance(1s);
    for (const v1::Discovery& message : messages(cursor)) {
      if (message.full()) last_full = now_;
    }
    ASSERT_LE(now_ - last_full, 41s);
  }
}

TEST_F(DiscoveryTest, TunnelsThatCameTogetherResyncApart) {
  std::vector<Discovery::Cursor> cursors(1'000);
  for (Discovery::Cursor& cursor : cursors) messages(cursor);
  std::map<int, int> per_second;
  for (const Discovery::Cursor& cursor : cursors) {
    ++per_second[static_cast<int>((*cursor.resync_at - now_) / 1s)];
  }
  for (const auto& [second, count] : per_second) EXPECT_LT(count, 100) << second;
}

TEST_F(DiscoveryTest, ManyTunnelsShareOneEncoding) {
  for (int i = 0; i < 10; ++i) beat("edge-" + std::to_string(i), 1);
  std::vector<Discovery::Cursor> cursors(1'000);
  for (Discovery::Cursor& cursor : cursors) discovery_.take(cursor, now_);
  EXPECT_EQ(discovery_.stats().messages_built, 1U);

  now_ += 1s;
  beat("edge-3", 2);
  const std::vector<Discovery::Bytes> first = discovery_.take(cursors[0], now_);
  for (size_t i = 1; i < cursors.size(); ++i) {
    now_ += 1us;  // the time passes while they are served
    const std::vector<Discovery::Bytes> next = discovery_.take(cursors[i], now_);
    ASSERT_EQ(next, first);
  }
  EXPECT_EQ(discovery_.stats().messages_built, 2U);
}

TEST_F(DiscoveryTest, WhatWasBuiltIsNotUsedOnceSomebodyInItFellSilent) {
  beat("edge-2", 1);
  now_ += 59s;
  Discovery::Cursor early;
  EXPECT_THAT(told(early), UnorderedElementsAre("edge-2", "self"));
  now_ += 1s;
  Discovery::Cursor late;
  EXPECT_THAT(told(late), ElementsAre("self"));
}

TEST_F(DiscoveryTest, ADeletedEntryIsNoLongerMentioned) {
  beat("edge-2", 1);
  Discovery::Cursor cursor;
  messages(cursor);
  discovery_.entry_gone("edge-2");
  EXPECT_THAT(told(cursor), IsEmpty());
  Discovery::Cursor fresh;
  EXPECT_THAT(told(fresh), ElementsAre("self"));
  discovery_.entry_gone("self");
  EXPECT_EQ(discovery_.current(now_).size(), 1U);
}

TEST_F(DiscoveryTest, APeerLinkCountsWithoutHeartbeats) {
  beat("edge-2", 1);
  beat("edge-3", 1);
  Discovery::Cursor cursor;
  messages(cursor);
  int mentions = 0;
  for (int i = 0; i < 300; ++i) {
    advance(1s);
    discovery_.peer_alive("edge-2", now_);
    discovery_.peer_alive("nobody-knows", now_);
    for (const std::string& name : told(cursor)) {
      if (name == "edge-2") ++mentions;
      if (name == "edge-3") EXPECT_LT(i, 60) << "its link is not alive";
    }
  }
  // Every third of the TTL, and with each resync; not with each sign of life.
  EXPECT_GE(mentions, 300 / 20);
  EXPECT_LE(mentions, 300 / 20 + 300 / 40 + 2);
}

TEST_F(DiscoveryTest, AlwaysHearsFromItself) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_LE(discovery_.next_deadline(), now_ + 20s);
    now_ = discovery_.next_deadline();
    discovery_.on_tick(now_);
    Discovery::Cursor cursor;
    EXPECT_THAT(told(cursor), ElementsAre("self"));
  }
}

TEST_F(DiscoveryTest, ADrainIsToldAtOnce) {
  beat("edge-2", 1);
  Discovery::Cursor cursor;
  messages(cursor);
  ProxyFacts leaving = facts("self");
  leaving.draining = true;
  discovery_.set_self(leaving, now_);
  std::vector<v1::Discovery> next = messages(cursor);
  ASSERT_EQ(next.size(), 1U);
  EXPECT_TRUE(next[0].proxies(0).draining());

  leaving.name = "edge-2";
  discovery_.entry({.facts = leaving, .heartbeat = 1}, now_);
  next = messages(cursor);
  ASSERT_EQ(next.size(), 1U);
  EXPECT_EQ(next[0].proxies(0).name(), "edge-2");
  EXPECT_TRUE(next[0].proxies(0).draining());
}

TEST_F(DiscoveryTest, SplitsALongListIntoMessagesBelowTheLimit) {
  for (int i = 0; i < 1'500; ++i) {
    ProxyFacts proxy = facts("edge-" + std::to_string(i));
    proxy.group = std::string(100, 'g');
    discovery_.entry({.facts = proxy, .heartbeat = 1}, now_);
  }
  Discovery::Cursor cursor;
  const std::vector<v1::Discovery> all = messages(cursor);
  EXPECT_GT(all.size(), 3U);
  int count = 0;
  for (const v1::Discovery& message : all) {
    EXPECT_TRUE(message.full());
    count += message.proxies_size();
  }
  EXPECT_EQ(count, 1'501);
}

TEST_F(DiscoveryTest, LimitsHowManyProxiesItKnows) {
  for (int i = 0; i < 2'100; ++i) beat("edge-" + std::to_string(i), 1);
  EXPECT_EQ(discovery_.current(now_).size(), 2'000U);
  EXPECT_EQ(discovery_.stats().refused, 101U);
}

}  // namespace
}  // namespace holdfast::tunnel

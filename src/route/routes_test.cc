#include "route/routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::route {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

constexpr std::string_view kOwn;

AgentFacts agent(std::string name, std::string zone, Labels labels = {}) {
  return {.name = std::move(name),
          .zone = std::move(zone),
          .labels = std::move(labels),
          .healthy = {"web"}};
}

std::vector<std::string> names(const std::vector<Choice>& choices) {
  std::vector<std::string> result;
  for (const Choice& choice : choices) {
    result.push_back(choice.via.empty() ? choice.agent : choice.agent + " by " + choice.via);
  }
  return result;
}

class RoutesTest : public testing::Test {
 protected:
  std::vector<std::string> choose(size_t most = 9, const Labels& selector = {}) {
    return names(routes_.choose("web", selector, most));
  }
  Routes routes_{"a"};
};

TEST_F(RoutesTest, NobodyCarriesAServiceThatNobodyExposes) {
  routes_.put(kOwn, agent("one", "a"));

  EXPECT_THAT(routes_.choose("db", {}, 3), IsEmpty());
  EXPECT_THAT(routes_.choose("web", {}, 0), IsEmpty());
}

TEST_F(RoutesTest, OwnTunnelsOfTheZoneGoFirstAndPeersOfOtherZonesLast) {
  routes_.put("edge-2", agent("far-peer", "b"));
  routes_.put(kOwn, agent("far-own", "b"));
  routes_.put("edge-2", agent("near-peer", "a"));
  routes_.put(kOwn, agent("near-own", "a"));

  EXPECT_THAT(choose(),
              ElementsAre("near-own", "near-peer by edge-2", "far-own", "far-peer by edge-2"));
}

TEST_F(RoutesTest, TheZoneCountsForMoreThanStreams) {
  routes_.put(kOwn, agent("near", "a"));
  routes_.put(kOwn, agent("far", "b"));
  for (int i = 0; i < 100; ++i) routes_.stream_opened("near");

  EXPECT_THAT(choose(), ElementsAre("near", "far"));
}

TEST_F(RoutesTest, OneZoneAloneIsAskedForAndZonesAreThoseThatSomebodyIsIn) {
  routes_.put(kOwn, agent("near", "a"));
  routes_.put(kOwn, agent("far", "b"));
  routes_.put("edge-2", agent("farther", "c"));
  routes_.put(kOwn, agent("unselected", "d", {{"tier", "test"}}));

  EXPECT_THAT(names(routes_.choose_in("b", "web", {}, 9)), ElementsAre("far"));
  EXPECT_THAT(names(routes_.choose_in("e", "web", {}, 9)), IsEmpty());
  EXPECT_THAT(routes_.zones("web", {}), UnorderedElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(routes_.zones("web", {{"tier", "test"}}), ElementsAre("d"));
  routes_.set_usable("edge-2", false);
  EXPECT_THAT(routes_.zones("web", {}), UnorderedElementsAre("a", "b", "d"));
  EXPECT_THAT(routes_.zones("db", {}), IsEmpty());
}

TEST_F(RoutesTest, TheAgentWithFewestStreamsGoesFirst) {
  for (const char* name : {"one", "two", "three"}) routes_.put(kOwn, agent(name, "a"));
  routes_.stream_opened("one");
  routes_.stream_opened("one");
  routes_.stream_opened("three");

  EXPECT_THAT(choose(), ElementsAre("two", "three", "one"));
  routes_.stream_closed("one");
  routes_.stream_closed("one");
  routes_.stream_opened("two");
  routes_.stream_opened("two");
  EXPECT_THAT(choose(), ElementsAre("one", "three", "two"));
}

TEST_F(RoutesTest, EqualAgentsTakeTurns) {
  for (const char* name : {"one", "two", "three"}) routes_.put(kOwn, agent(name, "a"));

  std::map<std::string, int> firsts;
  for (int i = 0; i < 30; ++i) ++firsts[choose(1).front()];

  EXPECT_THAT(firsts, UnorderedElementsAre(testing::Pair("one", 10), testing::Pair("two", 10),
                                           testing::Pair("three", 10)));
}

TEST_F(RoutesTest, TheSameCallsGiveTheSameChoices) {
  const auto run = [] {
    Routes routes("a");
    for (int i = 0; i < 20; ++i) routes.put(kOwn, agent("agent-" + std::to_string(i), "a"));
    std::vector<std::string> all;
    for (int i = 0; i < 50; ++i) {
      const auto chosen = names(routes.choose("web", {}, 3));
      all.insert(all.end(), chosen.begin(), chosen.end());
      routes.stream_opened(chosen.front());
    }
    return all;
  };

  EXPECT_EQ(run(), run());
}

TEST_F(RoutesTest, SelectorsMatchWhatAgentsSayAndWhatTheirCertificatesSay) {
  routes_.put(kOwn, agent("one", "a", {{"tier", "gold"}}));
  routes_.put(kOwn, agent("two", "b", {{"tier", "gold"}, {"os", "linux"}}));

  EXPECT_THAT(choose(9, {{"tier", "gold"}}), ElementsAre("one", "two"));
  EXPECT_THAT(choose(9, {{"tier", "gold"}, {"os", "linux"}}), ElementsAre("two"));
  EXPECT_THAT(choose(9, {{"tier", "silver"}}), IsEmpty());
  EXPECT_THAT(choose(9, {{"holdfast.name", "one"}}), ElementsAre("one"));
  EXPECT_THAT(choose(9, {{"holdfast.zone", "b"}}), ElementsAre("two"));
  EXPECT_THAT(choose(), SizeIs(2));
}

TEST_F(RoutesTest, AnAgentCannotClaimTheLabelsOfItsCertificate) {
  routes_.put(
      kOwn, agent("one", "a",
                  {{"holdfast.name", "two"}, {"holdfast.zone", "b"}, {"holdfast.role", "admin"}}));

  EXPECT_THAT(choose(9, {{"holdfast.name", "two"}}), IsEmpty());
  EXPECT_THAT(choose(9, {{"holdfast.zone", "b"}}), IsEmpty());
  EXPECT_THAT(choose(9, {{"holdfast.role", "admin"}}), IsEmpty());
}

TEST_F(RoutesTest, AChangedSelectorOrAgentCountsAtOnce) {
  routes_.put(kOwn, agent("one", "a", {{"tier", "gold"}}));
  EXPECT_THAT(choose(9, {{"tier", "gold"}}), ElementsAre("one"));

  routes_.put(kOwn, agent("two", "a", {{"tier", "gold"}}));
  routes_.put(kOwn, agent("one", "a", {{"tier", "silver"}}));
  EXPECT_THAT(choose(9, {{"tier", "gold"}}), ElementsAre("two"));
  EXPECT_THAT(choose(9, {{"tier", "silver"}}), ElementsAre("one"));
}

TEST_F(RoutesTest, AnAgentWhoseServiceIsUnwellIsNotACandidate) {
  AgentFacts facts = agent("one", "a");
  routes_.put(kOwn, facts);
  facts.healthy = {"db"};
  routes_.put(kOwn, facts);

  EXPECT_THAT(choose(), IsEmpty());
  EXPECT_THAT(routes_.choose("db", {}, 1), SizeIs(1));
}

TEST_F(RoutesTest, EveryAgentComesBeforeASecondWayToTheSame) {
  routes_.put(kOwn, agent("one", "a"));
  routes_.put("edge-2", agent("one", "a"));
  routes_.put("edge-3", agent("one", "a"));
  routes_.put("edge-3", agent("far", "b"));

  EXPECT_THAT(choose(3), ElementsAre("one", "far by edge-3", "one by edge-2"));
}

TEST_F(RoutesTest, PeersThatHoldTheSameAgentTakeTurns) {
  routes_.put("edge-2", agent("one", "a"));
  routes_.put("edge-3", agent("one", "a"));

  EXPECT_THAT(choose(1), ElementsAre("one by edge-2"));
  EXPECT_THAT(choose(1), ElementsAre("one by edge-3"));
  EXPECT_THAT(choose(1), ElementsAre("one by edge-2"));
}

TEST_F(RoutesTest, APeerWithoutALinkIsPassedOverUntilItIsBack) {
  routes_.put("edge-2", agent("one", "a"));
  routes_.put("edge-3", agent("one", "a"));
  routes_.set_usable("edge-2", false);

  for (int i = 0; i < 4; ++i) EXPECT_THAT(choose(), ElementsAre("one by edge-3"));
  routes_.set_usable("edge-3", false);
  EXPECT_THAT(choose(), IsEmpty());
  routes_.set_usable("edge-2", true);
  EXPECT_THAT(choose(), ElementsAre("one by edge-2"));
}

TEST_F(RoutesTest, WhatAnOwnTunnelSaysGoesBeforeWhatAPeerSays) {
  AgentFacts stale = agent("one", "a");
  stale.healthy = {"old"};
  routes_.put("edge-2", stale);
  routes_.put(kOwn, agent("one", "a"));
  routes_.put("edge-2", stale);

  EXPECT_THAT(choose(1), ElementsAre("one"));
  EXPECT_THAT(routes_.choose("old", {}, 1), IsEmpty());
  routes_.remove(kOwn, "one");
  EXPECT_THAT(routes_.choose("old", {}, 1), SizeIs(1));
}

TEST_F(RoutesTest, AnAgentThatIsGoneIsForgottenWithItsLastStream) {
  routes_.put(kOwn, agent("one", "a"));
  routes_.stream_opened("one");
  routes_.remove(kOwn, "one");

  EXPECT_THAT(choose(), IsEmpty());
  EXPECT_EQ(routes_.find("one"), nullptr);
  EXPECT_EQ(routes_.streams("one"), 1U);
  routes_.stream_closed("one");
  EXPECT_EQ(routes_.agent_count(), 0U);
}

TEST_F(RoutesTest, AServiceNamedTwiceByAnAgentIsListedOnce) {
  AgentFacts facts = agent("one", "a");
  facts.healthy = {"web", "web"};
  routes_.put(kOwn, facts);

  EXPECT_THAT(choose(), ElementsAre("one"));
  routes_.remove(kOwn, "one");
  EXPECT_THAT(choose(), IsEmpty());
}

AgentFacts sick(std::string name, std::string why, Labels labels = {}) {
  return {.name = std::move(name),
          .zone = "a",
          .labels = std::move(labels),
          .unhealthy = {{"web", std::move(why)}}};
}

TEST_F(RoutesTest, NobodyIsSentWhereAServiceIsNotHealthyAndWhyIsKnown) {
  routes_.put(kOwn, sick("one", "HTTP 500"));
  routes_.put("edge-2", sick("two", ""));

  EXPECT_THAT(choose(), IsEmpty());
  EXPECT_EQ(routes_.why_unhealthy("web", {}), "one: HTTP 500; two: unhealthy");
  EXPECT_EQ(routes_.why_unhealthy("db", {}), "");
}

TEST_F(RoutesTest, AServiceComesAndGoesWithItsHealth) {
  routes_.put(kOwn, agent("one", "a"));
  EXPECT_EQ(routes_.why_unhealthy("web", {}), "");

  routes_.put(kOwn, sick("one", "HTTP 500"));
  EXPECT_THAT(choose(), IsEmpty());
  routes_.put(kOwn, sick("one", "timed out"));
  EXPECT_EQ(routes_.why_unhealthy("web", {}), "one: timed out");

  routes_.put(kOwn, agent("one", "a"));
  EXPECT_THAT(choose(), ElementsAre("one"));
  EXPECT_EQ(routes_.why_unhealthy("web", {}), "");
}

TEST_F(RoutesTest, WhyIsForgottenWithTheLastWay) {
  routes_.put(kOwn, sick("one", "HTTP 500"));
  routes_.stream_opened("one");

  routes_.remove(kOwn, "one");

  EXPECT_EQ(routes_.why_unhealthy("web", {}), "");
  routes_.stream_closed("one");
  EXPECT_EQ(routes_.agent_count(), 0u);
}

TEST_F(RoutesTest, OnlySelectedAgentsSayWhyAndNotTooMany) {
  for (int i = 1; i <= 9; ++i) {
    routes_.put(kOwn, sick("agent-" + std::to_string(i), "down", {{"app", i < 6 ? "shop" : "x"}}));
  }

  EXPECT_EQ(routes_.why_unhealthy("web", {{"app", "shop"}}),
            "agent-1: down; agent-2: down; agent-3: down; and 2 others");
  EXPECT_EQ(routes_.why_unhealthy("web", {{"app", "none"}}), "");
}

}  // namespace
}  // namespace holdfast::route

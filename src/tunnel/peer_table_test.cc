// What peers hold, and where each rule is shown:
//
// - all first, then changes                   LearnsTheWholeListThenChanges
// - a list that comes again replaces          AListThatComesAgainReplacesTheOldOneWhenItIsWhole
// - one hop: own tunnels are not told back    by construction: only TunnelTable makes Holding
// - a lost link is passed over at once, and
//   what it held is forgotten after a grace   ALostPeerIsPassedOverAtOnceAndForgottenAfterItsGrace
// - limits                                    tests named Limits...
#include "tunnel/peer_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/reason.h"
#include "tunnel/tunnel_table.h"

namespace holdfast::tunnel {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

v1::HeldAgent held(const std::string& name) {
  v1::HeldAgent agent;
  agent.set_name(name);
  agent.set_zone("a");
  v1::ExposedService& service = *agent.mutable_exposed()->add_services();
  service.set_service("web");
  service.set_healthy(true);
  return agent;
}

struct Said {
  std::vector<std::string> agents{};
  std::vector<std::string> gone{};
  bool full = false;
  bool more = false;
};

v1::Holding holding(const Said& said) {
  v1::Holding result;
  result.set_full(said.full);
  result.set_more(said.more);
  for (const std::string& agent : said.agents) *result.add_agents() = held(agent);
  for (const std::string& agent : said.gone) result.add_gone(agent);
  return result;
}

class PeerTableTest : public testing::Test {
 protected:
  void link(const std::string& peer, const std::vector<std::string>& agents) {
    ASSERT_TRUE(table_.linked(peer, "b").ok());
    ASSERT_TRUE(table_.holding(peer, holding({.agents = agents, .full = true})).ok());
  }
  void say(const std::string& peer, const Said& said) {
    const Status status = table_.holding(peer, holding(said));
    ASSERT_TRUE(status.ok()) << status;
  }
  std::vector<std::string> chosen() {
    std::vector<std::string> result;
    for (const route::Choice& choice : routes_.choose("web", {}, 9)) {
      result.push_back(choice.agent + " by " + choice.via);
    }
    std::ranges::sort(result);
    return result;
  }

  Time now_{1000s};
  route::Routes routes_{"a"};
  PeerTable table_{{.max_peers = 3, .max_agents_per_peer = 4, .max_entries = 6, .grace = 10s},
                   routes_};
};

TEST_F(PeerTableTest, LearnsTheWholeListThenChanges) {
  link("edge-2", {"one", "two"});
  say("edge-2", {.agents = {"three"}, .gone = {"one"}});

  EXPECT_THAT(chosen(), ElementsAre("three by edge-2", "two by edge-2"));
  EXPECT_EQ(table_.entry_count(), 2U);
}

TEST_F(PeerTableTest, AChangeBeforeTheListIsAnError) {
  ASSERT_TRUE(table_.linked("edge-2", "b").ok());
  const Status status = table_.holding("edge-2", holding({.agents = {"one"}}));
  EXPECT_EQ(split_reason(status).code, "HF2107");

  link("edge-2", {"one"});
  table_.lost("edge-2", now_);
  ASSERT_TRUE(table_.linked("edge-2", "b").ok());
  EXPECT_FALSE(table_.holding("edge-2", holding({.gone = {"one"}})).ok());
}

TEST_F(PeerTableTest, EveryPeerThatHoldsAnAgentCanReachIt) {
  link("edge-3", {"one"});
  link("edge-2", {"one", "two"});

  EXPECT_THAT(table_.holders("one"), ElementsAre("edge-2", "edge-3"));
  EXPECT_THAT(table_.holders("nobody"), IsEmpty());
  table_.lost("edge-2", now_);
  EXPECT_THAT(table_.holders("one"), ElementsAre("edge-3"));
}

TEST_F(PeerTableTest, AListThatComesAgainReplacesTheOldOneWhenItIsWhole) {
  link("edge-2", {"one", "two"});
  say("edge-2", {.agents = {"three"}, .full = true, .more = true});
  EXPECT_THAT(chosen(), ElementsAre("one by edge-2", "three by edge-2", "two by edge-2"));

  say("edge-2", {.agents = {"two"}});
  EXPECT_THAT(chosen(), ElementsAre("three by edge-2", "two by edge-2"));
}

TEST_F(PeerTableTest, ALostPeerIsPassedOverAtOnceAndForgottenAfterItsGrace) {
  link("edge-2", {"one"});
  table_.lost("edge-2", now_);
  EXPECT_THAT(chosen(), IsEmpty());
  EXPECT_FALSE(table_.is_linked("edge-2"));
  EXPECT_THAT(table_.next_deadline(), Optional(now_ + 10s));

  table_.on_tick(now_ + 10s - 1ns);
  EXPECT_EQ(table_.entry_count(), 1U);
  table_.on_tick(now_ + 10s);
  EXPECT_EQ(table_.entry_count(), 0U);
  EXPECT_EQ(routes_.agent_count(), 0U);
  EXPECT_THAT(table_.rows(), IsEmpty());
  EXPECT_EQ(table_.stats().forgotten, 1U);
}

TEST_F(PeerTableTest, APeerThatIsBackWithinItsGraceIsKnownAsBefore) {
  link("edge-2", {"one", "two"});
  table_.lost("edge-2", now_);
  ASSERT_TRUE(table_.linked("edge-2", "b").ok());
  EXPECT_THAT(chosen(), ElementsAre("one by edge-2", "two by edge-2"));

  say("edge-2", {.agents = {"one"}, .full = true});
  table_.on_tick(now_ + 1h);
  EXPECT_THAT(chosen(), ElementsAre("one by edge-2"));
}

TEST_F(PeerTableTest, APeerThatIsBackAfterItsGraceCanBeChosenAgain) {
  link("edge-2", {"one"});
  table_.lost("edge-2", now_);
  table_.on_tick(now_ + 10s);
  link("edge-2", {"one"});
  EXPECT_THAT(chosen(), ElementsAre("one by edge-2"));
}

TEST_F(PeerTableTest, LimitsAgentsOfAPeerAndOfAll) {
  link("edge-2", {"1", "2", "3", "4", "5"});
  EXPECT_EQ(table_.entry_count(), 4U);
  EXPECT_EQ(table_.stats().dropped_agents, 1U);

  link("edge-3", {"6", "7", "8"});
  EXPECT_EQ(table_.entry_count(), 6U);
  EXPECT_EQ(table_.stats().dropped_agents, 2U);
  say("edge-2", {.agents = {"5"}, .gone = {"1"}});
  EXPECT_THAT(table_.holders("5"), ElementsAre("edge-2"));
}

TEST_F(PeerTableTest, LimitsPeers) {
  for (const char* peer : {"edge-2", "edge-3", "edge-4"}) link(peer, {});
  EXPECT_EQ(split_reason(table_.linked("edge-5", "b")).code, "HF2106");
  EXPECT_TRUE(table_.linked("edge-4", "b").ok());
  EXPECT_EQ(table_.stats().refused_peers, 1U);
}

TEST_F(PeerTableTest, UnderstandsWhatATunnelTableTells) {
  route::Routes far("b");
  TunnelTable theirs({}, far);
  v1::Exposed exposed = held("x").exposed();
  (*exposed.mutable_labels())["tier"] = "gold";
  std::vector<TunnelId> ids;
  for (const char* agent : {"one", "two", "three"}) {
    ids.push_back(*theirs.add({.agent = agent, .zone = "a", .exposed = exposed}, now_));
    theirs.heard(ids.back(), now_);
  }
  ASSERT_TRUE(table_.linked("edge-2", "b").ok());
  TunnelTable::Cursor cursor;
  const auto pass_on = [&] {
    while (const auto message = theirs.next_holding(cursor, 100)) {
      ASSERT_TRUE(table_.holding("edge-2", *message).ok());
    }
  };
  pass_on();
  EXPECT_EQ(chosen().size(), 3U);
  EXPECT_EQ(*routes_.find("one"), *far.find("one"));

  theirs.remove(ids[0]);
  pass_on();
  EXPECT_THAT(chosen(), ElementsAre("three by edge-2", "two by edge-2"));
}

}  // namespace
}  // namespace holdfast::tunnel

#include "health/presence_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/rng.h"

namespace holdfast::health {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Duration kPresenceTableTtl = 60s;
constexpr size_t kAll = 1'000'000;

Time presence_at(Duration elapsed) {
  return Time(elapsed);
}
WallTime wall(Duration elapsed) {
  return WallTime(1'700'000'000s + std::chrono::duration_cast<WallTime::duration>(elapsed));
}
NodeId agent(const std::string& name) {
  return {NodeKind::Agent, name};
}
Presence online(const std::string& name, Duration heartbeat) {
  return {.id = agent(name), .last_heartbeat = wall(heartbeat), .ttl = kPresenceTableTtl};
}
Presence offline(const std::string& name, Duration heartbeat) {
  return {.id = agent(name),
          .last_heartbeat = wall(heartbeat),
          .ttl = kPresenceTableTtl,
          .offline = true};
}
std::vector<std::string> names(const std::vector<Overdue>& overdue) {
  std::vector<std::string> all;
  for (const Overdue& one : overdue) all.push_back(one.id.name);
  return all;
}

class PresenceTableTest : public testing::Test {
 protected:
  // Ticks every second, as the service does, up to and including `until`.
  std::vector<std::string> ticks(Duration until) {
    std::vector<std::string> all;
    for (; now_ <= until; now_ += 1s) std::ranges::copy(tick(now_), std::back_inserter(all));
    return all;
  }
  std::vector<std::string> tick(Duration now) {
    return names(table_.on_tick(presence_at(now), kAll));
  }

  PresenceTable table_{{.retry = 5s, .stall = 2s}};
  Duration now_ = 0s;
};

TEST_F(PresenceTableTest, ANodeIsOverdueExactlyATtlAfterItWasHeard) {
  table_.heard(agent("a"), {.heartbeat = wall(0s)}, kPresenceTableTtl, presence_at(0s));
  ticks(59s);

  EXPECT_THAT(tick(kPresenceTableTtl - 1ns), IsEmpty());
  const std::vector<Overdue> overdue = table_.on_tick(presence_at(kPresenceTableTtl), kAll);

  ASSERT_THAT(overdue, SizeIs(1));
  EXPECT_EQ(overdue[0], (Overdue{agent("a"), wall(0s), presence_at(kPresenceTableTtl)}));
}

TEST_F(PresenceTableTest, TheStoresEchoOfWhatWasHeardDoesNotMoveTheDeadline) {
  table_.heard(agent("a"), {.heartbeat = wall(0s)}, kPresenceTableTtl, presence_at(0s));
  table_.observed(online("a", 0s), presence_at(3s));

  EXPECT_EQ(table_.next_deadline(), presence_at(kPresenceTableTtl));
}

TEST_F(PresenceTableTest, AHeartbeatThatAnotherControllerTookCountsFromWhenItIsSeen) {
  // Its clock is a minute behind ours: what it wrote looks old, and is not.
  table_.observed(online("a", -60s), presence_at(10s));

  EXPECT_EQ(table_.next_deadline(), presence_at(10s + kPresenceTableTtl));
}

TEST_F(PresenceTableTest, AnOverdueNodeIsReturnedAgainUntilSomethingIsObserved) {
  table_.heard(agent("a"), {.heartbeat = wall(0s)}, kPresenceTableTtl, presence_at(0s));

  EXPECT_EQ(ticks(71s), (std::vector<std::string>{"a", "a", "a"})) << "at 60, 65 and 70 s";
  EXPECT_EQ(table_.counts(NodeKind::Agent), (NodeCounts{.online = 1, .offline = 0}));
  EXPECT_THAT(ticks(74s), IsEmpty());
  const std::vector<Overdue> again = table_.on_tick(presence_at(75s), kAll);
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_EQ(again[0].deadline, presence_at(kPresenceTableTtl))
      << "offline since the first deadline";

  table_.observed(offline("a", 0s), presence_at(75s));

  EXPECT_EQ(table_.next_deadline(), std::nullopt);
  EXPECT_EQ(table_.counts(NodeKind::Agent), (NodeCounts{.online = 0, .offline = 1}));
}

TEST_F(PresenceTableTest, AnOfflineNodeThatIsHeardIsOnlineAgain) {
  table_.observed(offline("a", 0s), presence_at(0s));
  table_.heard(agent("a"), {.heartbeat = wall(5s)}, kPresenceTableTtl, presence_at(5s));

  EXPECT_EQ(table_.counts(NodeKind::Agent), (NodeCounts{.online = 1, .offline = 0}));
  EXPECT_EQ(table_.next_deadline(), presence_at(5s + kPresenceTableTtl));
}

TEST_F(PresenceTableTest, ANodeThatIsGoneIsNeverOverdue) {
  table_.heard(agent("a"), {.heartbeat = wall(0s)}, kPresenceTableTtl, presence_at(0s));
  table_.observed(offline("b", 0s), presence_at(0s));
  table_.observed_gone(agent("a"));
  table_.observed_gone(agent("b"));
  table_.observed_gone(agent("nobody"));

  EXPECT_THAT(ticks(200s), IsEmpty());
  EXPECT_EQ(table_.counts(NodeKind::Agent), NodeCounts{});
}

TEST_F(PresenceTableTest, AProcessThatComesBackBesideAnotherIsFoundAndTakesNobodyAway) {
  table_.heard(agent("a"), {.instance = 1, .heartbeat = wall(0s)}, kPresenceTableTtl,
               presence_at(0s));
  Presence elsewhere = online("a", 10s);
  elsewhere.instance = 2;
  table_.observed(elsewhere, presence_at(10s));
  EXPECT_EQ(table_.other_instance(agent("a"), 1, presence_at(20s)), 2);
  EXPECT_FALSE(table_.are_two(agent("a"), presence_at(20s)));
  table_.heard(agent("a"), {.instance = 1, .heartbeat = wall(20s)}, kPresenceTableTtl,
               presence_at(20s));

  EXPECT_TRUE(table_.are_two(agent("a"), presence_at(20s)));
  EXPECT_FALSE(table_.leave(agent("a"), 2, presence_at(21s)));
  EXPECT_TRUE(table_.leave(agent("a"), 1, presence_at(22s)));
  EXPECT_TRUE(table_.leave(agent("nobody"), 1, presence_at(22s)));
}

TEST_F(PresenceTableTest, AfterAStartEverybodyHasAWholeTtl) {
  table_.reset(NodeKind::Agent, {online("long ago", -500s), online("just now", 0s)},
               presence_at(0s));

  EXPECT_THAT(ticks(59s), IsEmpty());
  EXPECT_THAT(ticks(60s), SizeIs(2));
}

TEST_F(PresenceTableTest, AResetForgetsWhatIsNotInIt) {
  table_.heard(agent("a"), {.heartbeat = wall(0s)}, kPresenceTableTtl, presence_at(0s));
  table_.heard({NodeKind::Proxy, "p"}, {.heartbeat = wall(0s)}, 30s, presence_at(0s));
  table_.reset(NodeKind::Agent, {online("b", 0s), offline("c", 0s)}, presence_at(1s));

  EXPECT_EQ(table_.counts(NodeKind::Agent), (NodeCounts{.online = 1, .offline = 1}));
  EXPECT_EQ(table_.counts(NodeKind::Proxy), (NodeCounts{.online = 1, .offline = 0}));
  EXPECT_EQ(table_.next_deadline(), presence_at(30s)) << "the other kinds are untouched";
}

TEST_F(PresenceTableTest, AGraceGivesAWholeTtlAndShortensNone) {
  table_.heard(agent("early"), {.heartbeat = wall(0s)}, kPresenceTableTtl, presence_at(0s));
  table_.heard(agent("long"), {.heartbeat = wall(0s)}, 500s, presence_at(0s));
  table_.observed(offline("gone", 0s), presence_at(0s));
  ticks(50s);
  table_.grant_grace(presence_at(50s));

  EXPECT_EQ(table_.next_deadline(), presence_at(50s + kPresenceTableTtl));
  EXPECT_EQ(ticks(111s), (std::vector<std::string>{"early"}));
  table_.observed_gone(agent("early"));
  EXPECT_EQ(table_.next_deadline(), presence_at(550s));
}

TEST_F(PresenceTableTest, AGraceAlsoHoldsForWhoWasJustFoundOverdue) {
  table_.heard(agent("a"), {.heartbeat = wall(0s)}, kPresenceTableTtl, presence_at(0s));
  ASSERT_THAT(ticks(60s), SizeIs(1));
  table_.grant_grace(presence_at(61s));

  EXPECT_THAT(ticks(120s), IsEmpty());
  EXPECT_THAT(ticks(121s), SizeIs(1));
}

TEST_F(PresenceTableTest, AfterAStallOfItsOwnNobodyIsBlamed) {
  table_.heard(agent("a"), {.heartbeat = wall(0s)}, kPresenceTableTtl, presence_at(0s));
  ticks(10s);

  EXPECT_THAT(tick(600s), IsEmpty()) << "frozen for ten minutes";
  EXPECT_EQ(table_.graces(), 1u);
  EXPECT_EQ(table_.next_deadline(), presence_at(600s + kPresenceTableTtl));
}

TEST(PresenceTable, TheLimitIsKeptAndTheLongestOverdueComeFirst) {
  PresenceTable table({.retry = 5s, .stall = 1h});
  for (int i = 0; i < 10; ++i) {
    table.heard(agent(std::to_string(i)), {.heartbeat = wall(0s)},
                kPresenceTableTtl + std::chrono::seconds(9 - i), presence_at(0s));
  }
  EXPECT_EQ(names(table.on_tick(presence_at(100s), 3)), (std::vector<std::string>{"9", "8", "7"}));
  EXPECT_THAT(table.on_tick(presence_at(100s), kAll), SizeIs(7));
  EXPECT_THAT(table.on_tick(presence_at(100s), kAll), IsEmpty());
}

TEST(PresenceTable, HoldsAHundredThousandNodesThatAnnounceAgainAndAgain) {
  constexpr int kNodes = 100'000;
  PresenceTable table({.retry = 5s, .stall = 1h});
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < kNodes; ++i) {
      const Duration now = round * 30s + std::chrono::microseconds(i);
      table.heard(agent(std::to_string(i)), {.heartbeat = wall(now)}, kPresenceTableTtl,
                  presence_at(now));
    }
  }

  EXPECT_EQ(table.counts(NodeKind::Agent).online, static_cast<size_t>(kNodes));
  EXPECT_THAT(table.on_tick(presence_at(30s + kPresenceTableTtl - 1ns), kAll), IsEmpty());
  Time before{};
  for (int i = 0; i < kNodes; i += 1'000) {
    const std::vector<Overdue> overdue = table.on_tick(
        presence_at(30s + kPresenceTableTtl + std::chrono::microseconds(i + 999)), kAll);
    ASSERT_THAT(overdue, SizeIs(1'000)) << "each exactly once, when its time has come";
    for (const Overdue& one : overdue) {
      ASSERT_LE(before, one.deadline);
      before = one.deadline;
    }
  }
}

// A fleet, a store that takes its time, and a controller that crashes and is cut off. What the
// table says is held against what really happened.
class Simulation {
 public:
  explicit Simulation(uint64_t seed) : rng_(seed) {}

  void run() {
    for (int i = 0; i < kNodes; ++i)
      nodes_[std::to_string(i)].next = rng_.below(Duration(kPresenceTableTtl));
    for (now_ = 0s; now_ < 900s; now_ += kStep) {
      if (chance(2'000)) restart();
      if (chance(2'000)) cut_off_until_ = now_ + rng_.below(Duration(100s));
      if (is_cut_off()) table_.grant_grace(presence_at(now_));
      if (is_cut_off()) trusted_since_ = now_;
      for (auto& [name, node] : nodes_) act(name, node);
      deliver();
      check_silent();
      check_overdue(table_.on_tick(presence_at(now_), 50));
      if (testing::Test::HasFatalFailure()) return;
    }
    EXPECT_GT(found_, 0) << "somebody died and was found";
  }

 private:
  struct Node {
    Duration next{0};
    std::optional<Duration> last;  // that reached the store's queue
    bool dead = false;
    bool stored_offline = false;
  };
  struct Write {
    Duration when;
    Presence presence;
  };
  static constexpr int kNodes = 40;
  static constexpr Duration kStep = 250ms;
  static constexpr Duration kLatest = 1s;  // a batch arrives

  bool chance(uint64_t one_in) { return rng_.below(one_in) == 0; }
  bool is_cut_off() const { return now_ < cut_off_until_; }

  void restart() {
    table_ = PresenceTable({.retry = 5s, .stall = 2s});
    trusted_since_ = now_;
    std::vector<Presence> all;
    for (const auto& [name, presence] : stored_) all.push_back(presence);
    table_.reset(NodeKind::Agent, all, presence_at(now_));
  }
  void act(const std::string& name, Node& node) {
    if (!node.dead && chance(5'000)) node.dead = true;
    if (node.dead && chance(800)) {
      node.dead = false;
      node.next = now_;
    }
    if (node.dead || now_ < node.next) return;
    if (is_cut_off()) {
      node.next = now_ + 1s;  // tries again
      return;
    }
    node.next = now_ + kPresenceTableTtl / 2 + rng_.below(kPresenceTableTtl / 10);
    node.last = now_;
    table_.heard(agent(name), {.heartbeat = wall(now_)}, kPresenceTableTtl, presence_at(now_));
    pending_.push_back(
        {now_ + rng_.below(kLatest), {agent(name), wall(now_), kPresenceTableTtl, false}});
  }
  void deliver() {
    if (is_cut_off()) return;
    const auto due = [this](const Write& write) { return write.when <= now_; };
    for (const Write& write : pending_) {
      if (!due(write)) continue;
      stored_[write.presence.id.name] = write.presence;
      nodes_[write.presence.id.name].stored_offline = write.presence.offline;
      table_.observed(write.presence, presence_at(now_));
    }
    std::erase_if(pending_, due);
  }
  // Each one found had its whole TTL.
  void check_overdue(const std::vector<Overdue>& overdue) {
    for (const Overdue& one : overdue) {
      Node& node = nodes_[one.id.name];
      ASSERT_TRUE(node.last.has_value());
      ASSERT_GE(now_ - *node.last, kPresenceTableTtl) << one.id.name << " at " << now_.count();
      ASSERT_GE(now_ - trusted_since_, kPresenceTableTtl) << "a whole TTL after its own outage";
      ASSERT_TRUE(node.dead) << one.id.name << " announced in time and was blamed";
      found_ += 1;
      Presence presence = stored_[one.id.name];
      presence.offline = true;
      pending_.push_back({now_ + rng_.below(kLatest), presence});
    }
  }
  // Nobody is silent for longer than that and still shown as online.
  void check_silent() {
    for (const auto& [name, node] : nodes_) {
      if (!node.last || node.stored_offline || is_cut_off()) continue;
      const Duration since = std::max(*node.last, trusted_since_);
      ASSERT_LE(now_ - since, kPresenceTableTtl + 2 * kLatest + 2 * kStep) << name << " was missed";
    }
  }

  Rng rng_;
  PresenceTable table_{{.retry = 5s, .stall = 2s}};
  std::map<std::string, Node> nodes_;
  std::map<std::string, Presence> stored_;
  std::vector<Write> pending_;
  Duration now_{0};
  Duration cut_off_until_{0};
  Duration trusted_since_{0};
  int found_ = 0;
};

TEST(PresenceSimulation, NobodyIsBlamedEarlyAndNobodyIsMissed) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Simulation(seed).run();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace holdfast::health

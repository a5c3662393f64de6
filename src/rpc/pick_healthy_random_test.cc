// PickHealthy under random events: what must hold whatever happens.
#include <gtest/gtest.h>

#include <map>

#include "base/rng.h"
#include "rpc/pick_healthy_harness.h"

namespace holdfast::rpc::pick {
namespace {

// What the world knows of the connections that are not dropped.
struct Known {
  bool connected = false;
  bool watched = false;
};

class World {
 public:
  explicit World(uint64_t seed)
      : rng_(seed), link_({.reconnect_interval = 5min}, {"a:1", "b:1", "c:1"}, seed) {
    learn();
  }

  void step() {
    if (rng_.below(uint64_t{4}) == 0) {
      link_.advance(rng_.below(Duration(10s)));
    } else if (!known_.empty()) {
      happen_to(std::next(known_.begin(), static_cast<long>(rng_.below(known_.size())))->first);
    }
    if (rng_.below(uint64_t{200}) == 0) link_.take(*link_.core.use_credentials(link_.now));
    learn();
    check();
  }

  // Every dial succeeds, everybody serves, nobody doubts.
  void calm_down() {
    for (int i = 0; i < 100; ++i) {
      const auto all = known_;
      for (const auto& [id, state] : all) {
        if (!state.connected) connect(id);
        link_.tell(id, kReconnect);
        link_.serve(id, true);
        link_.take(link_.core.on_probe_ended(id, true, link_.now));
      }
      link_.advance(1s);
      learn();
      check();
    }
  }

  Harness& link() { return link_; }

 private:
  void connect(uint64_t id) {
    link_.connect(id);
    known_[id].connected = true;
  }

  void happen_to(uint64_t id) {
    if (!known_[id].connected) {
      rng_.below(uint64_t{2}) == 0 ? connect(id) : link_.close(id);
      return;
    }
    switch (rng_.below(uint64_t{10})) {
      case 0:
        return link_.close(id);
      case 1:
        return link_.tell(id, rng_.below(uint64_t{4}) == 0 ? kPickFirst : kReconnect);
      case 2:
        return link_.fail_discovery(id, Discovery::Outcome::Failed);
      case 3:
        return link_.end_watch(id, WatchEnd::Other);
      case 4:
        return link_.unanswered(id);
      case 5:
        return link_.unavailable(id);
      case 6:
        return link_.take(link_.core.on_probe_ended(id, rng_.below(uint64_t{2}) == 0, link_.now));
      case 7:
        return link_.unanswered(0);
      default:
        return link_.serve(id, rng_.below(uint64_t{2}) == 0);
    }
  }

  void learn() {
    for (; learned_ < link_.all.size(); ++learned_) {
      const Action& action = link_.all[learned_];
      if (const auto* dial = std::get_if<Dial>(&action)) known_[dial->connection] = {};
      if (const auto* drop = std::get_if<Drop>(&action)) {
        EXPECT_EQ(known_.erase(drop->connection), 1u) << "dropped once";
      }
      if (const auto* pick = std::get_if<Pick>(&action)) picked_ = pick->connection;
    }
  }

  void check() {
    EXPECT_LE(link_.core.children(), 2u);
    EXPECT_LE(known_.size(), 2u) << "no connection is forgotten";
    EXPECT_EQ(picked_, link_.core.picked()) << "every change of the pick is said";
    bool any = false;
    for (const auto& [id, state] : known_) any = any || state.connected;
    EXPECT_EQ(any, picked_ != 0) << "there is a pick whenever one is connected";
    if (picked_ != 0) {
      ASSERT_TRUE(known_.contains(picked_));
      EXPECT_TRUE(known_[picked_].connected);
    }
    ASSERT_TRUE(!link_.core.next_deadline() || *link_.core.next_deadline() > link_.now);
  }

  Rng rng_;
  Harness link_;
  std::map<uint64_t, Known> known_;
  size_t learned_ = 0;
  uint64_t picked_ = 0;
};

TEST(PickHealthyRandom, WhateverHappensThePromisesHold) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    World world(seed);
    for (int i = 0; i < 500; ++i) world.step();

    world.calm_down();
    EXPECT_EQ(world.link().core.children(), 1u) << "well and quiet: one connection";
    EXPECT_NE(world.link().core.picked(), 0u);

    world.link().core.close();
    const size_t before = world.link().all.size();
    world.link().advance(1h);
    EXPECT_EQ(world.link().all.size(), before);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(PickHealthyRandom, ASeedReproducesARun) {
  World first(7);
  World second(7);
  for (int i = 0; i < 500; ++i) {
    first.step();
    second.step();
  }

  EXPECT_EQ(first.link().all, second.link().all);
  EXPECT_GT(first.link().all.size(), 100u);
}

}  // namespace
}  // namespace holdfast::rpc::pick

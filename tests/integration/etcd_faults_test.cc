// The etcd store while members are killed and frozen: no acknowledged write is lost, no outcome is
// misreported, watchers miss nothing, and the pause is short. Prints what it measured.
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <functional>
#include <map>
#include <optional>
#include <set>

#include "base/rng.h"
#include "integration/etcd_cluster.h"
#include "store/etcd_store.h"
#include "store/store_contract_fixture.h"

namespace holdfast::store {
namespace {

using namespace std::chrono_literals;

// Writers create keys one after another and a watcher follows, while the test does its worst.
class Load {
 public:
  Load(const EtcdOptions& options, int writers) : store_(io_.get_executor(), options, clock_) {
    const Revision origin = *store::run(io_, current_revision());
    watch_ = *store::run(io_, store_.watch(KeyRange{}, origin));
    for (int i = 0; i < writers; ++i) {
      writing_ += 1;
      asio::co_spawn(io_, write(i), [this](std::exception_ptr) { writing_ -= 1; });
    }
    asio::co_spawn(io_, follow(), [this](std::exception_ptr) { following_ = false; });
  }

  void run_for(Duration duration) {
    io_.restart();
    io_.run_for(duration);
  }

  // Stops the writers, waits until the watcher saw a last write, and compares all accounts.
  void finish() {
    stopping_ = true;
    ASSERT_NO_FATAL_FAILURE(run_until([this] { return writing_ == 0; }));
    std::vector<Operation> last(1, put(kLast, ""));
    const auto end = store::run(io_, store_.commit(std::move(last)));
    ASSERT_TRUE(end.ok()) << end.status();
    ASSERT_NO_FATAL_FAILURE(run_until([this] { return !following_; }));
    compare();
  }

  Duration longest_pause() const { return longest_pause_; }
  Duration longest_watch_pause() const { return longest_watch_pause_; }
  size_t acknowledged() const { return acknowledged_.size(); }
  size_t unknown() const { return unknown_.size(); }
  size_t refused() const { return refused_.size(); }

 private:
  static constexpr const char* kLast = "the end";

  void run_until(const std::function<bool()>& done) {
    const Time deadline = clock_.now() + 30s;
    while (!done()) {
      ASSERT_TRUE(clock_.now() < deadline) << "the watcher or a writer hangs";
      run_for(20ms);
    }
  }

  asio::awaitable<Result<Revision>> current_revision() {
    CO_TRY(const auto all, co_await store_.range({}));
    co_return all.revision;
  }

  asio::awaitable<void> write(int writer) {
    for (int i = 0; !stopping_; ++i) {
      const std::string key = fmt::format("w{}/{}", writer, i);
      // A third create, a third only write, a third create beside a delete of what is not there.
      std::vector<Operation> operations;
      operations.push_back(put(key, "v", i % 3 == 0 ? Precondition::None : Precondition::Absent));
      if (i % 3 == 2) operations.push_back(erase("nothing"));
      const auto revision = co_await store_.commit(std::move(operations));
      const bool doubtful =
          revision.status().message().find("outcome unknown") != std::string::npos;
      if (revision.ok()) {
        acknowledged_[key] = *revision;
        longest_pause_ =
            std::max(longest_pause_, clock_.now() - last_write_.value_or(clock_.now()));
        last_write_ = clock_.now();
      } else {
        EXPECT_EQ(revision.status().code(), absl::StatusCode::kUnavailable) << revision.status();
        (doubtful ? unknown_ : refused_).insert(key);
      }
    }
  }

  asio::awaitable<void> follow() {
    for (;;) {
      const auto changes = co_await watch_->next();
      EXPECT_TRUE(changes.ok()) << changes.status();
      if (!changes.ok()) co_return;
      longest_watch_pause_ =
          std::max(longest_watch_pause_, clock_.now() - last_seen_.value_or(clock_.now()));
      last_seen_ = clock_.now();
      for (const Change& change : *changes) {
        EXPECT_GT(change.item.revision, seen_revision_) << "each write is a revision of its own";
        seen_revision_ = change.item.revision;
        EXPECT_TRUE(seen_.emplace(change.item.key, change.item.revision).second)
            << change.item.key << " was written or seen twice";
      }
      if (seen_.contains(kLast)) co_return;
    }
  }

  void compare() {
    const auto all = store::run(io_, store_.range({}));
    ASSERT_TRUE(all.ok()) << all.status();
    std::map<std::string, Revision> present;
    for (const Item& item : all->items) present[item.key] = item.revision;
    EXPECT_EQ(present, seen_) << "the watcher saw what is there, each once";
    for (const auto& [key, revision] : acknowledged_) {
      EXPECT_TRUE(present.contains(key)) << "acknowledged, but lost: " << key;
      EXPECT_EQ(present[key], revision) << key;
    }
    for (const std::string& key : refused_) EXPECT_FALSE(present.contains(key)) << key;
    EXPECT_GT(acknowledged_.size(), 50u);
  }

  SystemClock clock_;
  asio::io_context io_;
  EtcdStore store_;
  std::unique_ptr<Watch> watch_;
  int writing_ = 0;
  bool following_ = true;
  bool stopping_ = false;
  std::map<std::string, Revision> acknowledged_;
  std::set<std::string> unknown_;
  std::set<std::string> refused_;
  std::map<std::string, Revision> seen_;
  Revision seen_revision_ = 0;
  std::optional<Time> last_write_;
  std::optional<Time> last_seen_;
  Duration longest_pause_{0};
  Duration longest_watch_pause_{0};
};

void report(std::string_view what, const Load& load) {
  fmt::print(
      "{}: {} writes acknowledged, {} unknown, {} refused; longest pause {} of writes, {} of "
      "the watch\n",
      what, load.acknowledged(), load.unknown(), load.refused(), load.longest_pause() / 1ms,
      load.longest_watch_pause() / 1ms);
}

// Options with which a store starts on that member.
EtcdOptions starting_on(const test::EtcdCluster& cluster, size_t member) {
  EtcdOptions options;
  options.endpoints = cluster.endpoints();
  while (Rng(options.seed).below(cluster.size()) != member) options.seed += 1;
  return options;
}

TEST(EtcdFaults, KillingTheLeaderAndAFollowerLosesNothing) {
  test::EtcdCluster cluster({.members = 3});
  const size_t leader = cluster.leader();
  Load load(starting_on(cluster, leader), 8);
  load.run_for(700ms);

  cluster.kill(leader);
  load.run_for(2500ms);
  cluster.restart(leader);
  while (!cluster.ready(leader)) load.run_for(50ms);  // else two members of three would be gone
  load.run_for(500ms);
  cluster.kill((leader + 1) % 3);
  load.run_for(2s);
  cluster.restart((leader + 1) % 3);
  load.run_for(500ms);
  load.finish();

  report("members killed", load);
  EXPECT_LT(load.longest_pause() / 1ms, 5000) << "an election and a try, not the request timeout";
}

TEST(EtcdFaults, KillingMembersTheStoreUsesAgainAndAgainMisreportsNothing) {
  test::EtcdCluster cluster({.members = 3});
  Load load(starting_on(cluster, 0), 8);

  for (size_t round = 0; round < 6; ++round) {
    load.run_for(500ms);
    cluster.kill(round % 3);
    load.run_for(200ms);
    cluster.restart(round % 3);
    while (!cluster.ready(round % 3)) load.run_for(50ms);
  }
  load.run_for(500ms);
  load.finish();

  report("members killed in turn", load);
}

TEST(EtcdFaults, AFrozenLeaderHoldsWritesUpForLessThanTheRequestTimeout) {
  // Pings faster than etcd allows by default, to see soon that the watch is dead: by default it
  // takes 8 seconds.
  test::EtcdCluster cluster({.members = 3, .arguments = {"--grpc-keepalive-min-time=1s"}});
  const size_t leader = cluster.leader();
  EtcdOptions options = starting_on(cluster, leader);
  options.keepalive_interval = 1500ms;
  options.keepalive_timeout = 1s;
  Load load(options, 4);
  load.run_for(700ms);

  cluster.freeze(leader);
  load.run_for(5s);
  cluster.thaw(leader);
  load.run_for(700ms);
  load.finish();

  report("leader frozen", load);
  EXPECT_EQ(load.unknown() + load.refused(), 0u);
  EXPECT_LT(load.longest_pause() / 1ms, 5000);
  EXPECT_LT(load.longest_watch_pause() / 1ms, 4900) << "noticed before it was thawed";
}

}  // namespace
}  // namespace holdfast::store

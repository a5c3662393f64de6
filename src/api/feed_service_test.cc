// The feed over a store in memory: what the fan-out knows of the store.
#include "api/feed_service.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "base/check.h"
#include "net/task_group.h"
#include "resource/registry.h"
#include "store/memory_store.h"
#include "store/store_contract_fixture.h"

namespace holdfast::api {
namespace {

using namespace std::chrono_literals;

class FeedServiceTest : public testing::Test {
 protected:
  FeedServiceTest() {
    tasks_.spawn(feed_.run());
    tasks_.spawn(feed_.watch_deadlines());
    EXPECT_TRUE(until([this] { return fan_out_.initialised(); }));
  }
  ~FeedServiceTest() override {
    feed_.stop();
    asio::co_spawn(loop_, tasks_.join(), [](const std::exception_ptr&) {});
    loop_.restart();
    loop_.run_for(5s);
    EXPECT_EQ(tasks_.size(), 0U);
  }
  bool until(const std::function<bool()>& condition) {
    const Time end = clock_.now() + 20s;
    while (!condition() && clock_.now() < end) {
      loop_.restart();
      loop_.run_for(5ms);
    }
    return condition();
  }
  void put(const std::string& key, const std::string& value) {
    std::vector<store::Operation> operations;
    operations.push_back(store::put(key, value));
    ASSERT_TRUE(store::run(loop_, memory_.commit(std::move(operations))).ok());
  }

  asio::io_context loop_;
  SystemClock clock_;
  store::MemoryStore memory_{loop_.get_executor(), {}};
  events::FanOut fan_out_{{}, every_kind()};
  FeedService feed_{memory_, fan_out_, clock_, [](const auto&) {}, {}};
  net::TaskGroup tasks_{loop_.get_executor()};
};

TEST_F(FeedServiceTest, AChangeOfAResourceIsAnEvent) {
  put("/service/web", resource::make_resource(resource::Kind::Service, "web").SerializeAsString());

  EXPECT_TRUE(until([this] { return fan_out_.stats().events == 1; }));
  EXPECT_EQ(fan_out_.latest(), 2);
}

TEST_F(FeedServiceTest, KnowsHowFarTheStoreIsWhenNothingWrittenWasAnEvent) {
  put("/request/0123456789abcdef", "of no kind");
  put("/request/0123456789abcdeg", "of no kind");

  EXPECT_TRUE(until([this] { return fan_out_.latest() == 3; }));
  EXPECT_EQ(fan_out_.stats().events, 0U);
  const events::WatchRequest resumed{.kinds = {{.kind = "service"}}, .after_revision = 3};
  EXPECT_TRUE(fan_out_.add(resumed).ok());
}

// As at a half of a pair that took a copy: its history begins there, not at the beginning.
TEST(FeedServiceStart, WatchersResumeFromTheOldestRevisionThatTheStoreKeeps) {
  const SystemClock clock;
  for (const size_t kept : {1U, 2U, 5U, 9U}) {
    asio::io_context loop;
    store::MemoryStore memory(loop.get_executor(), {.history = {.max_changes = kept}});
    for (int each = 0; each < 20; ++each) {
      const std::string name = "web-" + std::to_string(each);
      std::vector<store::Operation> operations;
      operations.push_back(
          store::put("/service/" + name,
                     resource::make_resource(resource::Kind::Service, name).SerializeAsString()));
      ASSERT_TRUE(store::run(loop, memory.commit(std::move(operations))).ok());
    }
    events::FanOut fan_out({}, every_kind());
    FeedService feed(memory, fan_out, clock, [](const auto&) {}, {});
    net::TaskGroup tasks(loop.get_executor());
    tasks.spawn(feed.run());
    for (int round = 0; round < 1000 && fan_out.event_count() < kept; ++round) {
      loop.restart();
      loop.run_for(5ms);
    }

    const int64_t floor = 21 - static_cast<int64_t>(kept);
    const auto resumed = [&](int64_t after) {
      return fan_out.add({.kinds = {{.kind = "service"}}, .after_revision = after}).status();
    };
    EXPECT_EQ(fan_out.event_count(), kept);
    EXPECT_EQ(resumed(floor), absl::OkStatus()) << kept;
    EXPECT_TRUE(absl::IsOutOfRange(resumed(floor - 1))) << kept;

    feed.stop();
    asio::co_spawn(loop, tasks.join(), [](const std::exception_ptr&) {});
    loop.restart();
    loop.run_for(5s);
  }
}

}  // namespace
}  // namespace holdfast::api

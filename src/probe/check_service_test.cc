// The service on a real loop, with applications that answer as they are told.
#include "probe/check_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <functional>
#include <map>

namespace holdfast::probe {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

constexpr Duration kPatience = 20s;

CheckSpec spec(const std::string& name, uint16_t port) {
  return {.name = name,
          .service = name,
          .probe = {.port = port},
          .times = {.period = 20ms, .failure_threshold = 2}};
}

class CheckServiceTest : public testing::Test {
 protected:
  void SetUp() override {
    service_.on_change([this] { ++changes_; });
  }
  void TearDown() override {
    auto stopped = asio::co_spawn(loop_, service_.stop(), asio::use_future);
    EXPECT_TRUE(until([&] { return stopped.wait_for(0s) == std::future_status::ready; }));
  }

  asio::awaitable<Outcome> answer(const Probe& probe) {
    const uint16_t port = probe.port;
    ++asked_[port];
    ++running_;
    bool waited = true;
    if (frozen_.contains(port)) waited = co_await net::pause(1h);
    --running_;
    cancelled_ += waited ? 0 : 1;
    co_return well_[port] ? Outcome{.healthy = true} : Outcome{.reason = "HTTP 500"};
  }
  bool until(const std::function<bool()>& so) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!so()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      loop_.restart();
      loop_.run_one_for(5ms);
    }
    return true;
  }

  asio::io_context loop_;
  SystemClock clock_;
  std::map<uint16_t, bool> well_;
  std::map<uint16_t, int> asked_;
  std::set<uint16_t> frozen_;
  int running_ = 0;
  int cancelled_ = 0;
  int changes_ = 0;
  CheckService service_{{.loop = loop_.get_executor(),
                         .clock = clock_,
                         .run = [this](const Probe& probe) { return answer(probe); }}};
};

TEST_F(CheckServiceTest, AServiceTurnsWithItsApplicationAndSaysSoAtOnce) {
  well_[1] = true;
  service_.set({spec("web", 1)}, {"web"});
  EXPECT_FALSE(service_.verdict("web").healthy);
  service_.start();

  ASSERT_TRUE(until([&] { return service_.verdict("web").healthy; }));
  EXPECT_EQ(changes_, 1);
  well_[1] = false;
  ASSERT_TRUE(until([&] { return !service_.verdict("web").healthy; }));
  EXPECT_EQ(service_.verdict("web").reason, "HTTP 500");
  EXPECT_EQ(changes_, 2);
  well_[1] = true;
  ASSERT_TRUE(until([&] { return service_.verdict("web").healthy; }));
}

TEST_F(CheckServiceTest, AFrozenApplicationHoldsUpNoOther) {
  frozen_.insert(1);
  well_[2] = true;
  service_.set({spec("db", 1), spec("web", 2)}, {"db", "web"});
  service_.start();

  EXPECT_TRUE(until([&] { return asked_[2] > 10; }));
  EXPECT_EQ(asked_[1], 1) << "one probe of a service at a time";
}

TEST_F(CheckServiceTest, StoppingEndsTheProbesUnderWay) {
  frozen_.insert(1);
  service_.set({spec("db", 1)}, {"db"});
  service_.start();
  ASSERT_TRUE(until([&] { return running_ == 1; }));

  auto stopped = asio::co_spawn(loop_, service_.stop(), asio::use_future);

  EXPECT_TRUE(until([&] { return stopped.wait_for(0s) == std::future_status::ready; }));
  EXPECT_EQ(cancelled_, 1);
  EXPECT_EQ(changes_, 0) << "a probe that was ended says nothing of the service";
}

TEST_F(CheckServiceTest, ChecksThatComeWhileItRunsAreCarriedOut) {
  well_[2] = true;
  service_.set({}, {"web"});
  service_.start();

  service_.set({spec("web", 2)}, {"web"});
  EXPECT_TRUE(until([&] { return asked_[2] > 2; }));
  service_.set({}, {"web"});
  const int asked = asked_[2];
  service_.set({spec("db", 3)}, {"db", "web"});
  EXPECT_TRUE(until([&] { return asked_[3] > 5; }));
  EXPECT_LE(asked_[2], asked + 1);
}

}  // namespace
}  // namespace holdfast::probe

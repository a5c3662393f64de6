// The agent's part of tracking on a real kernel: what the cluster says gets into the maps, what is
// leased is kept to, and what runs out runs out with nobody there.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <array>

#include "base/check.h"
#include "resource/codec.h"
#include "support/eventually.h"
#include "track/pins_claim.h"
#include "track/track_service.h"
#include "track_world.h"

namespace holdfast::test {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kTrackServiceVip = "10.96.0.1";

class TrackServiceTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = TrackWorld::why_not(); !why.empty()) {
      GTEST_SKIP() << "not counted in the kernel here: " << why;
    }
    world_ = std::make_unique<TrackWorld>();
    near_ = listen_on("127.0.0.1");
    far_ = listen_on("127.0.0.1");
    service_ = make_agent(registry_);
  }

  void TearDown() override {
    if (!service_) return;
    stop(*service_);
    service_.reset();
    clients_.clear();
    world_.reset();
  }

  std::unique_ptr<track::TrackService> make_agent(metrics::Registry& registry) {
    auto made = std::make_unique<track::TrackService>(
        track::TrackService::Parts{
            .loop = loop_.get_executor(), .clock = clock_, .registry = registry},
        track::TrackOptions{.directory = world_->options.directory,
                            .times = {.read_every = 50ms, .audit_every = 100ms},
                            .settings = world_->options.settings,
                            .reports = {.holder = "agent/edge-1", .zone = "a"}});
    made->set_holders(5);
    made->set_zones(zones());
    made->set_services({web("zone_capacity: {a: 10}, when_full: reject")});
    return made;
  }

  static track::Zones zones() {
    const auto parsed = resource::parse_documents(
        "kind: zone_map\nmetadata: {name: default}\nspec: {zones: [{name: a, id: 1}, {name: b, "
        "id: 2}]}");
    return *track::make_zones(parsed->front().zone_map(), "a");
  }

  track::NamedService web(const std::string& more) const {
    const auto parsed = resource::parse_documents(fmt::format(
        "kind: service\nmetadata: {{name: web}}\nspec: {{virtual_ip: {}, ports: [{{port: 80, "
        "protocol: tcp}}], endpoints: [{{address: '127.0.0.1:{}', zone: a}}, {{address: "
        "'127.0.0.1:{}', zone: b}}], {}}}",
        kTrackServiceVip, port_of(near_), port_of(far_), more));
    HF_CHECK(parsed.ok(), parsed.status().ToString());
    return {.name = "web", .service = parsed->front().service()};
  }

  // Lets the service do its rounds until it is so.
  bool comes(const std::function<bool()>& wanted) {
    return eventually(
        [&] {
          loop_.restart();
          loop_.run_for(20ms);
          return wanted();
        },
        5s);
  }
  void start() {
    service_->start();
    ASSERT_TRUE(comes([&] { return service_->status().ok() && service_->service_count() == 1; }))
        << service_->status();
  }
  void stop(track::TrackService& service) {
    bool stopped = false;
    asio::co_spawn(loop_, service.stop(), [&](const std::exception_ptr&) { stopped = true; });
    while (!stopped) {
      loop_.restart();
      loop_.run_for(20ms);
    }
  }
  // How many of `count` connections were let in.
  int open(int count) {
    int made = 0;
    for (int i = 0; i < count; ++i) {
      Socket socket = tcp_socket();
      if (try_connect(socket, kTrackServiceVip, 80) != 0) continue;
      clients_.push_back(std::move(socket));
      made += 1;
    }
    return made;
  }
  // Places taken in that zone, as the kernel has them.
  uint32_t places(uint8_t zone) const {
    const auto counters = world_->pins->counters();
    for (const track::CounterSample& sample : *counters) {
      if (sample.key.zone == zone) return sample.reserved;
    }
    return 0;
  }
  // The same as the next report says.
  uint64_t active(const std::string& zone) {
    for (const route::PoolReport& pool : service_->report().pools) {
      if (pool.pool.zone == zone) {
        service_->on_report_failed();
        return pool.active;
      }
    }
    service_->on_report_failed();
    return 0;
  }

  SystemClock clock_;
  asio::io_context loop_{1};
  metrics::Registry registry_{metrics::Options{}};
  std::unique_ptr<TrackWorld> world_;
  Socket near_;
  Socket far_;
  std::vector<Socket> clients_;
  std::unique_ptr<track::TrackService> service_;
};

// Capacity 10 among five: two here, the rest to the zone without a limit.
TEST_F(TrackServiceTest, WithoutAGrantTheFixedShareIsKept) {
  start();

  EXPECT_EQ(open(5), 5);

  EXPECT_TRUE(comes([&] { return active("a") == 2 && active("b") == 3; }))
      << active("a") << ", " << active("b");
}

TEST_F(TrackServiceTest, AGrantIsInForceAtOnceAndRunsOutWithNobodyThere) {
  start();
  const route::LoadReport report = service_->report();
  const Time asked = clock_.now();
  service_->on_grant(
      {.number = 1,
       .report = report.number,
       .ttl = 2s,
       .report_every = 1s,
       .pools = {{.pool = {.service = "web", .zone = "a"}, .limit = 6, .fixed = 3}}});
  ASSERT_TRUE(comes([&] {
    const auto plans = world_->pins->read()->plans;
    return !plans.empty() && plans.begin()->second.zones[0].limit == 6;
  }));

  EXPECT_EQ(open(8), 8);
  EXPECT_TRUE(comes([&] { return active("a") == 6 && active("b") == 2; }))
      << active("a") << ", " << active("b");

  // From here on nobody runs the service. The share is 3: of six that are open four must go before
  // one is let in.
  EXPECT_TRUE(eventually([&] { return clock_.now() > asked + 2100ms; }, 5s));
  clients_.erase(clients_.begin(), clients_.begin() + 4);
  ASSERT_TRUE(eventually([&] { return places(1) == 2; }, 2s));
  EXPECT_EQ(open(2), 2);
  EXPECT_TRUE(comes([&] { return active("a") == 3 && active("b") == 3; }))
      << active("a") << ", " << active("b");
}

// A new life of the agent keeps to what the old one was dealt, until somebody deals again.
TEST_F(TrackServiceTest, ADealtShareOutlivesTheAgent) {
  start();
  const route::LoadReport report = service_->report();
  service_->on_grant(
      {.number = 1,
       .report = report.number,
       .ttl = 100ms,
       .report_every = 1s,
       .pools = {{.pool = {.service = "web", .zone = "a"}, .limit = 6, .fixed = 4}}});
  ASSERT_TRUE(comes([&] {
    const auto plans = world_->pins->read()->plans;
    return !plans.empty() && plans.begin()->second.zones[0].static_limit == 4;
  }));
  stop(*service_);
  service_.reset();

  service_ = make_agent(registry_);
  start();
  open(8);

  EXPECT_TRUE(comes([&] { return active("a") == 4 && active("b") == 4; }))
      << active("a") << ", " << active("b");
}

TEST_F(TrackServiceTest, WhatIsTakenOutAndPutInAgainIsFoundWithoutARestart) {
  start();
  open(2);
  const auto opened = [&] {
    return registry_
        .counter({"holdfast_opened_connections_total", "Connections opened, by service and zone."})
        .with({{"src_zone", "a"},
               {"dst_zone", "a"},
               {"svc_ip", kTrackServiceVip},
               {"svc_port", "80"},
               {"svc_proto", "tcp"}})
        .value();
  };
  ASSERT_TRUE(comes([&] { return opened() == 2; })) << opened();

  ASSERT_TRUE(track::unload(world_->options.directory).ok());
  ASSERT_TRUE(comes([&] { return !service_->status().ok(); }));
  EXPECT_THAT(service_->status().ToString(), HasSubstr("HF8108"));
  EXPECT_EQ(service_->service_count(), 0U);

  ASSERT_TRUE(world_->load_again().ok());
  ASSERT_TRUE(comes([&] { return service_->status().ok() && service_->service_count() == 1; }));
  clients_.clear();
  open(1);
  EXPECT_TRUE(comes([&] { return opened() == 1; })) << opened() << ": it begins anew, at zero";
  world_->restart_agent();
}

TEST_F(TrackServiceTest, ADetachedProgramIsToldOf) {
  start();

  ASSERT_EQ(::unlink((world_->options.directory + "/link_hf_sockops").c_str()), 0);

  ASSERT_TRUE(comes([&] { return !service_->status().ok(); }));
  EXPECT_THAT(service_->status().ToString(), HasSubstr("HF8110: hf_sockops"));
  EXPECT_EQ(service_->service_count(), 1U) << "what still works goes on";
  ASSERT_TRUE(world_->load_again().ok());
  EXPECT_TRUE(comes([&] { return service_->status().ok(); })) << service_->status();
}

TEST_F(TrackServiceTest, ASecondAgentOnTheSamePinsSaysSoAndCountsNothing) {
  start();
  metrics::Registry registry{metrics::Options{}};
  const auto second = make_agent(registry);
  second->start();

  ASSERT_TRUE(comes([&] { return second->status().ToString().contains("HF8114"); }))
      << second->status();
  open(2);
  ASSERT_TRUE(comes([&] { return active("a") == 2; })) << active("a");
  EXPECT_TRUE(service_->status().ok()) << "the first goes on: " << service_->status();
  EXPECT_EQ(second->service_count(), 0U);
  EXPECT_THAT(registry.expose(), Not(HasSubstr("holdfast_opened_connections_total{")));

  // It takes over when the first is gone.
  stop(*service_);
  service_.reset();
  EXPECT_TRUE(comes([&] { return second->status().ok() && second->service_count() == 1; }))
      << second->status();
  stop(*second);
}

TEST_F(TrackServiceTest, AKilledAgentLeavesItsPinsToTheNextAtOnce) {
  std::array<int, 2> ready{};
  ASSERT_EQ(::pipe(ready.data()), 0);
  const std::string& pins = world_->options.directory;
  Forked first([&] {
    track::PinsClaim claim;
    if (!claim.take(pins).ok()) return 1;
    if (::write(ready[1], "+", 1) != 1) return 1;
    for (;;) ::pause();
  });
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  track::PinsClaim next;
  EXPECT_THAT(next.take(pins).ToString(), HasSubstr("HF8114: another agent uses the pins in "));

  first.kill();

  EXPECT_TRUE(next.take(pins).ok());
  EXPECT_TRUE(next.take(pins).ok()) << "what is had is kept";
  for (const int end : ready) ::close(end);
}

}  // namespace
}  // namespace holdfast::test

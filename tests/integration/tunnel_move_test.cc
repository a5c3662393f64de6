// Both sides as they are: an agent's service moves between proxies' services while a connection
// runs through it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "echo_app.h"
#include "resource/proto_time.h"
#include "tunnel/agent_service.h"
#include "tunnel_fleet.h"

namespace holdfast::tunnel {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Member = TunnelFleet::Member;

class TunnelMove : public testing::Test {
 protected:
  TunnelMove() : app_(fleet_.loop(), "127.0.0.1:0") {
    fleet_.add_service("web");
    AgentOptions options{.version = "test", .stop_timeout = seconds(2)};
    options.pool.spread = Duration::zero();
    options.pool.backoff_step = milliseconds(10);
    options.pool.backoff_cap = milliseconds(50);
    const ProxyIdentity& pems = fleet_.agent_identity("edge-1", "a");
    agent_ = AgentService::make(fleet_.loop().get_executor(), fleet_.clock, options,
                                {.private_key_pem = pems.private_key_pem,
                                 .certificate_pem = pems.certificate_pem,
                                 .ca_pem = pems.ca_pem})
                 .value();
    const std::vector<std::string> targets = {"web=" + app_.address()};
    agent_->set_targets(TargetTable::parse(targets).value());
    agent_->set_exposed(exposing({"web"})).IgnoreError();
    v1::NetworkingConfig settings;
    settings.set_tunnel_strategy(v1::TUNNEL_STRATEGY_PROXY_PEERING);
    settings.set_agent_connection_count(1);
    agent_->set_settings(settings);
  }
  ~TunnelMove() override {
    fleet_.run(finished(agent_->stop()));
    fleet_.run(finished(app_.stop()));
  }
  static asio::awaitable<bool> finished(asio::awaitable<void> task) {
    co_await std::move(task);
    co_return true;
  }

  // A connection that comes and goes; by which peer it went.
  Result<std::string> via(Member& proxy) {
    const TunnelFleet::Dialled dialled = fleet_.connect(proxy, "web");
    dialled.client->finish();
    TRY(const Reached reached, dialled.reached);
    return reached.via;
  }

  bool drained_ = false;
  TunnelFleet fleet_;
  test::EchoApp app_;
  std::unique_ptr<AgentService> agent_;
};

TEST_F(TunnelMove, AConnectionOutlivesTheDrainOfItsProxyAndTheAgentIsReachedThroughout) {
  Member& first = fleet_.add_proxy("p1", "a");
  agent_->set_bootstrap({first.at.tunnel});
  agent_->start();
  ASSERT_TRUE(fleet_.until([&] { return first.service->describe().tunnels.size() == 1; }));
  const TunnelFleet::Dialled running = fleet_.connect(first, "web");
  ASSERT_TRUE(running.reached.ok()) << running.reached.status();
  ASSERT_TRUE(fleet_.echoes(running.client, "before"));

  // The agent learns of it by discovery alone.
  Member& second = fleet_.add_proxy("p2", "a");
  fleet_.introduce();
  ASSERT_TRUE(fleet_.until([&] {
    return second.service->describe().peers.size() == 1 &&
           second.service->describe().peers[0].agents == 1;
  }));
  EXPECT_EQ(via(second).value(), "p1");

  fleet_.spawn([](ProxyService& service, bool& done) -> asio::awaitable<void> {
    co_await service.drain();
    done = true;
  }(*first.service, drained_));
  const auto moved = [&] {
    // Never a moment without a way, whichever it is.
    const Result<std::string> way = via(second);
    EXPECT_TRUE(way.ok()) << way.status();
    return second.service->describe().tunnels.size() == 1;
  };
  ASSERT_TRUE(fleet_.until(moved)) << agent_->last_failure();
  EXPECT_EQ(via(second).value(), "");
  EXPECT_TRUE(fleet_.echoes(running.client, "while it drains"));
  EXPECT_FALSE(drained_);

  running.client->finish();
  EXPECT_TRUE(fleet_.until([&] { return running.client->over && drained_; }));
  EXPECT_EQ(first.service->describe().drain.cut, 0u);
  EXPECT_EQ(running.client->reset, std::nullopt);
  EXPECT_EQ(running.client->received, "beforewhile it drains");
}

}  // namespace
}  // namespace holdfast::tunnel

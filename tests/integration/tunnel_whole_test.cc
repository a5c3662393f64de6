// The agent's services and the proxy's together: real TLS, one process, loopback.
#include <gtest/gtest.h>

#include "echo_app.h"
#include "tunnel/agent_service.h"
#include "tunnel_fleet.h"

namespace holdfast::tunnel {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Member = TunnelFleet::Member;

class TunnelWhole : public testing::Test {
 protected:
  TunnelWhole() { fleet_.add_service("web"); }
  ~TunnelWhole() override {
    if (agent_) fleet_.run(finish(agent_->stop()));
    fleet_.run(finish(app_.stop()));
  }
  static asio::awaitable<bool> finish(asio::awaitable<void> task) {
    co_await std::move(task);
    co_return true;
  }
  void start_agent(const std::vector<std::string>& bootstrap) {
    const ProxyIdentity& identity = fleet_.agent_identity("edge-1", "a");
    AgentOptions options;
    options.stop_timeout = milliseconds(500);  // for what a test leaves open
    options.pool.spread = Duration::zero();
    options.pool.backoff_step = milliseconds(20);
    options.pool.backoff_cap = milliseconds(100);
    agent_ = AgentService::make(fleet_.loop().get_executor(), fleet_.clock, std::move(options),
                                {.private_key_pem = identity.private_key_pem,
                                 .certificate_pem = identity.certificate_pem,
                                 .ca_pem = identity.ca_pem})
                 .value();
    const std::vector<std::string> lines{"web=" + app_.address()};
    agent_->set_targets(TargetTable::parse(lines).value());
    EXPECT_TRUE(agent_->set_exposed(exposing({"web"})).ok());
    agent_->set_bootstrap(bootstrap);
    agent_->start();
  }
  bool has_tunnels(size_t count) {
    return fleet_.until([&] { return agent_->stats().tunnels == count; });
  }

  TunnelFleet fleet_;
  test::EchoApp app_{fleet_.loop(), "127.0.0.1:0"};
  std::unique_ptr<AgentService> agent_;
};

TEST_F(TunnelWhole, AnAgentThatKnowsOneProxyFindsTheOthersAndIsReachedByAll) {
  Member& p1 = fleet_.add_proxy("p1", "a");
  Member& p2 = fleet_.add_proxy("p2", "b");
  Member& p3 = fleet_.add_proxy("p3", "c");
  fleet_.introduce();
  start_agent({p1.at.tunnel});
  ASSERT_TRUE(has_tunnels(2));
  for (Member* proxy : {&p1, &p2, &p3}) {
    TunnelFleet::Dialled dialled{absl::UnavailableError("not yet"), nullptr};
    // What a proxy holds reaches its peers a moment later.
    ASSERT_TRUE(fleet_.until([&] {
      dialled = fleet_.connect(*proxy, "web");
      return dialled.reached.ok();
    })) << dialled.reached.status();
    EXPECT_EQ(dialled.reached->agent, "edge-1");
    EXPECT_TRUE(fleet_.echoes(dialled.client, "hello"));
    dialled.client->finish();
    EXPECT_TRUE(fleet_.until([&] { return dialled.client->over; }));
  }
}

TEST_F(TunnelWhole, WhenAProxyDrainsTheAgentMovesFirstAndNothingIsCut) {
  Member& p1 = fleet_.add_proxy("p1", "a");
  Member& p2 = fleet_.add_proxy("p2", "b");
  Member& p3 = fleet_.add_proxy("p3", "c");
  fleet_.introduce();
  start_agent({p1.at.tunnel});
  ASSERT_TRUE(has_tunnels(2));
  const TunnelFleet::Dialled running = fleet_.connect(p1, "web");
  ASSERT_TRUE(running.reached.ok()) << running.reached.status();
  ASSERT_EQ(running.reached->via, "");
  fleet_.spawn(p1.service->drain());
  ASSERT_TRUE(fleet_.until([&] {
    return !p2.service->describe().tunnels.empty() && !p3.service->describe().tunnels.empty();
  }));
  EXPECT_TRUE(fleet_.echoes(running.client, "still here"));
  const TunnelFleet::Dialled fresh = fleet_.connect(p2, "web");
  EXPECT_TRUE(fresh.reached.ok()) << fresh.reached.status();
  running.client->finish();
  EXPECT_TRUE(fleet_.until([&] { return running.client->over; }));
  EXPECT_EQ(running.client->reset, std::nullopt);
  EXPECT_TRUE(fleet_.until([&] { return agent_->stats().drained == 1; }));
  EXPECT_EQ(agent_->stats().lost, 0U);
}

TEST_F(TunnelWhole, AProxyThatDiesIsReplacedAndConnectionsGoOnByAnother) {
  Member& p1 = fleet_.add_proxy("p1", "a");
  Member& p2 = fleet_.add_proxy("p2", "b");
  Member& p3 = fleet_.add_proxy("p3", "c");
  fleet_.introduce();
  start_agent({p1.at.tunnel});
  ASSERT_TRUE(has_tunnels(2));
  fleet_.stop(p1);
  ASSERT_TRUE(fleet_.until([&] {
    return !p2.service->describe().tunnels.empty() && !p3.service->describe().tunnels.empty();
  }));
  const TunnelFleet::Dialled dialled = fleet_.connect(p3, "web");
  ASSERT_TRUE(dialled.reached.ok()) << dialled.reached.status();
  EXPECT_TRUE(fleet_.echoes(dialled.client, "by another"));
}

}  // namespace
}  // namespace holdfast::tunnel

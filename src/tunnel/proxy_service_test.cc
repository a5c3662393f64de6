#include "tunnel/proxy_service.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "base/reason.h"
#include "net/task_group.h"

namespace holdfast::tunnel {
namespace {

class ProxyServiceTest : public testing::Test {
 protected:
  Status dial(Result<std::optional<v1::Service>> service) {
    ProxyService proxy(
        {.loop = loop_.get_executor(), .clock = clock_, .registry = registry_, .buffers = buffers_},
        {.name = "edge-1"}, {.service = [&](const std::string&) { return service; }});
    net::TaskGroup tasks(loop_.get_executor());
    Status outcome;
    tasks.spawn(dial(proxy, outcome));
    loop_.restart();
    loop_.run();
    return outcome;
  }

  asio::io_context loop_;
  ManualClock clock_;
  metrics::Registry registry_{{}};
  LinkBuffers buffers_;

 private:
  static asio::awaitable<void> dial(ProxyService& proxy, Status& outcome) {
    std::unique_ptr<StreamEnd> end;
    const Wanted wanted{.service = "web"};
    const Result<Reached> reached = co_await proxy.dial(wanted, end);
    outcome = reached.status();
  }
};

TEST_F(ProxyServiceTest, AServiceThatIsNotThereIsToldFromOneThatNobodyKnowsOf) {
  EXPECT_EQ(split_reason(dial(std::nullopt)).code, "HF2201");
  EXPECT_EQ(split_reason(dial(v1::Service())).code, "HF2202");
  const Status unknown = dial(coded(absl::StatusCode::kUnavailable, "HF2305", "not known now"));
  EXPECT_EQ(split_reason(unknown).code, "HF2305");
  EXPECT_TRUE(absl::IsUnavailable(unknown));
}

TEST_F(ProxyServiceTest, ProxiesThatAreGoneMakeRoomForOthers) {
  ProxyService proxy(
      {.loop = loop_.get_executor(), .clock = clock_, .registry = registry_, .buffers = buffers_},
      {.name = "edge-1", .peers = {.max_peers = 2}}, {});
  for (int i = 0; i < 10; ++i) {
    const std::string name = "other-" + std::to_string(i);
    proxy.set_proxies({{.name = "edge-1"}, {.name = name}});
    const std::vector<PeerStatus> peers = proxy.describe().peers;
    ASSERT_EQ(peers.size(), 1U) << name;
    EXPECT_EQ(peers[0].name, name);
  }
}

}  // namespace
}  // namespace holdfast::tunnel

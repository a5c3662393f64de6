#include "cli/tunnels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/node_socket.h"
#include "cli/proxy_drain.h"
#include "resource/registry.h"

namespace holdfast::cli {
namespace {

using testing::HasSubstr;

constexpr int64_t kTunnelsNowSeconds = 1'700'000'000;
constexpr WallTime kTunnelsNow(std::chrono::seconds{kTunnelsNowSeconds});

v1::AgentTunnel tunnel(const std::string& proxy, const std::string& state) {
  v1::AgentTunnel out;
  out.set_proxy(proxy);
  out.set_state(state);
  out.mutable_since()->set_seconds(kTunnelsNowSeconds - 192);
  out.mutable_round_trip()->set_nanos(1'500'000);
  out.set_streams(3);
  return out;
}

v1::Resource tunnelled_agent(const std::string& name) {
  v1::Resource out = resource::make_resource(resource::Kind::Agent, name);
  out.mutable_agent()->set_zone("a");
  return out;
}

TEST(Tunnels, AreShownWithTheirAgentAndProxy) {
  v1::Resource edge = tunnelled_agent("edge-1");
  *edge.mutable_agent()->add_tunnels() = tunnel("front-1", "connected");
  *edge.mutable_agent()->add_tunnels() = tunnel("front-2", "draining");

  EXPECT_EQ(render_tunnels({edge}, {.now = kTunnelsNow}),
            "AGENT    ZONE   PROXY     STATE       RTT     CONNECTIONS   SINCE\n"
            "edge-1   a      front-1   connected   1.5ms   3             3m12s\n"
            "edge-1   a      front-2   draining    1.5ms   3             3m12s\n");
}

TEST(Tunnels, AnAgentWithoutAnySaysWhy) {
  v1::Resource lonely = tunnelled_agent("edge-2");
  lonely.mutable_agent()->set_code("HF2120");
  v1::Resource gone = tunnelled_agent("edge-3");
  *gone.mutable_agent()->add_tunnels() = tunnel("front-1", "connected");
  gone.mutable_agent()->mutable_announcement()->mutable_offline_since()->set_seconds(
      kTunnelsNowSeconds - 60);

  const std::string table = render_tunnels({lonely, gone}, {.now = kTunnelsNow});

  EXPECT_THAT(table, HasSubstr("edge-2   a      -       none (HF2120)"));
  EXPECT_THAT(table, HasSubstr("edge-3   a      -       offline"));
}

TEST(Tunnels, AProxyShowsWhatItHoldsAndItsPeers) {
  v1::GetTunnelsResponse node;
  node.set_node("proxy/front-1");
  v1::HeldTunnel& held = *node.add_held();
  held.set_agent("edge-1");
  held.set_state("advised");
  v1::PeerLink& peer = *node.add_peers();
  peer.set_proxy("front-2");
  peer.set_state("waiting");
  peer.set_reason("connection refused");

  const std::string text = render_tunnels(node, {.now = kTunnelsNow});

  EXPECT_THAT(text, HasSubstr("edge-1   -      front-1   advised"));
  EXPECT_THAT(text, HasSubstr("front-2   -      -         waiting"));
  EXPECT_THAT(text, HasSubstr("connection refused"));
}

TEST(NodeAnswer, IsReadWithoutWhatANewerNodeSaysBesides) {
  v1::DrainStatus status;

  ASSERT_TRUE(
      read_answer({.status = 202, .body = R"({"node":"proxy/p","phase":"advising","new":[{}]})"},
                  status)
          .ok());
  EXPECT_EQ(status.phase(), "advising");
}

TEST(NodeAnswer, CarriesTheNodesError) {
  v1::DrainStatus status;

  const Status refused =
      read_answer({.status = 403, .body = R"({"error":{"code":"HF5001","message":"no"}})"}, status);

  EXPECT_TRUE(absl::IsPermissionDenied(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("HF5001"));
  EXPECT_TRUE(absl::IsDataLoss(read_answer({.status = 200, .body = "[]"}, status)));
}

TEST(Drain, SaysWhatIsLeftAndWhatWasCut) {
  v1::DrainStatus status;
  status.set_node("proxy/front-1");
  status.set_phase("advising");
  status.mutable_since()->set_seconds(kTunnelsNowSeconds - 12);
  status.mutable_deadline()->set_seconds(kTunnelsNowSeconds + 60);
  status.set_advised(2);
  status.set_tunnels(1);
  status.set_streams(7);

  EXPECT_EQ(drain_text(status, kTunnelsNow),
            "advising: 2 agents told to move, 1 tunnel and 7 connections left; cut in 1m00s");
  status.set_cut(1);
  status.mutable_deadline()->set_seconds(kTunnelsNowSeconds);
  EXPECT_EQ(drained_text(status), "proxy/front-1 drained in 12s; 1 connection cut");
}

}  // namespace
}  // namespace holdfast::cli

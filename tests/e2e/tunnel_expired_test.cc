// Papers that were good and have run out, at every door of a real proxy: nodes get no word in,
// users are told, and those whose papers are in order notice nothing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "e2e/hostile_peer.h"
#include "e2e/tunnel_app.h"
#include "e2e/tunnel_fleet.h"
#include "support/eventually.h"
#include "support/http_client.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

// Daemons renew theirs in time, also on a busy machine.
constexpr const char* kShortLife = "identity.node_certificate_ttl=10s";
constexpr Duration kOver = 12s;

class ExpiredPapers : public testing::Test {
 protected:
  ExpiredPapers() {
    fleet_.apply(service_yaml("app", 9000));
    fleet_.add_proxy("px-0", "a", {"app"});
    fleet_.add_agent("edge-0", "a", {fmt::format("app=127.0.0.1:{}", app_.port())});
  }
  void SetUp() override {
    ASSERT_TRUE(eventually([this] { return serves(); }, 40s)) << log();
  }

  bool serves() const {
    return HttpClient(fmt::format("127.0.0.1:{}", ports().ingress[0])).ask("GET /x").body == "/x";
  }
  double metric(const std::string& sample) const {
    const std::string text =
        HttpClient("unix:" + fleet_.data_dir("px-0") + "/node.sock").ask("GET /metrics").body;
    const size_t at = text.find("\n" + sample + " ");
    return at == std::string::npos ? 0 : std::stod(text.substr(at + sample.size() + 2));
  }
  bool grows(const std::string& sample, double before) const {
    return eventually([&] { return metric(sample) > before; }, 15s);
  }
  // What a door says to the first words of a node with these papers.
  std::optional<v1::TunnelMessage> answer(const HostilePeer::Dial& dial, const std::string& name) {
    const auto peer = HostilePeer::dial(dial);
    if (!peer || !peer->say(hello(name, {"app"}))) return std::nullopt;
    std::optional<v1::TunnelMessage> said = peer->read_message(5s);
    EXPECT_TRUE(said.has_value() || peer->is_closed(5s));
    return said;
  }
  const ProxyPorts& ports() const { return fleet_.ports("px-0"); }
  std::string log() const { return fleet_.log("px-0") + fleet_.log("edge-0"); }

  TunnelTestApp app_;
  TunnelFleet fleet_{{kShortLife}};
};

TEST_F(ExpiredPapers, OfAnAgentOpenNoTunnel) {
  fleet_.join("agent", "late", "a");
  const HostilePeer::Dial dial{.port = ports().tunnel,
                               .papers = papers_in(fleet_.data_dir("late"))};
  const auto fresh = answer(dial, "late");
  ASSERT_TRUE(fresh && fresh->has_welcome()) << log();
  const double before = metric("holdfast_tunnel_failed_handshakes_total");

  let_pass(kOver);

  EXPECT_FALSE(answer(dial, "late")) << "not a word";
  EXPECT_TRUE(grows("holdfast_tunnel_failed_handshakes_total", before));
  EXPECT_TRUE(eventually([this] { return serves(); }, 20s)) << log();
}

TEST_F(ExpiredPapers, OfAProxyMakeNoLink) {
  fleet_.join("proxy", "px-late", "a");
  const HostilePeer::Dial dial{.port = ports().peer,
                               .protocol = "holdfast-peer/1",
                               .papers = papers_in(fleet_.data_dir("px-late"))};
  const auto fresh = answer(dial, "px-late");
  ASSERT_TRUE(fresh && fresh->has_welcome()) << log();
  const double before = metric("holdfast_tunnel_failed_handshakes_total");

  let_pass(kOver);

  EXPECT_FALSE(answer(dial, "px-late")) << "not a word";
  EXPECT_TRUE(grows("holdfast_tunnel_failed_handshakes_total", before));
  EXPECT_TRUE(eventually([this] { return serves(); }, 20s)) << log();
}

TEST_F(ExpiredPapers, OfAUserReachNothing) {
  ASSERT_EQ(fleet_.cli({"user", "create", "ann", "--role", "operator"}).exit_code, 0);
  const auto papers = [&](const char* life) {
    const std::string file = fleet_.folder().file(std::string("ann-") + life);
    const ProgramOutcome made = fleet_.cli({"user", "cert", "ann", "--ttl", life, "--out", file});
    EXPECT_EQ(made.exit_code, 0) << made.error;
    std::ifstream in(file);
    const std::string both{std::istreambuf_iterator<char>(in), {}};
    const size_t certificate = both.find("-----BEGIN CERTIFICATE");
    return TestCertificate{.certificate_pem = both.substr(certificate),
                           .private_key_pem = both.substr(0, certificate)};
  };
  const auto connect = [&](const TestCertificate& own) {
    HttpClient client(fmt::format("127.0.0.1:{}", ports().open));
    if (!client.start_tls(&own)) return Reply{};
    client.send("CONNECT app:9000 HTTP/1.1\r\nHost: app:9000\r\n\r\n");
    return client.read_reply();
  };
  const TestCertificate good = papers("1h");
  ASSERT_TRUE(eventually([&] { return connect(good).status == 200; }, 20s)) << log();
  const TestCertificate expired = papers("1s");

  let_pass(3s);

  const Reply refused = connect(expired);
  EXPECT_EQ(refused.status, 407) << refused.head << refused.body;
  EXPECT_TRUE(refused.body.contains("HF5003")) << refused.body;
  EXPECT_EQ(connect(good).status, 200);
  EXPECT_TRUE(eventually([this] { return serves(); }, 20s)) << log();
}

}  // namespace
}  // namespace holdfast::test

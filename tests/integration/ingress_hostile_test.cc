// Clients that mean no good, or do not know better: each costs little, and others do not notice.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <list>

#include "ingress_fixture.h"

namespace holdfast::ingress {
namespace {

using namespace std::chrono_literals;

std::string refusals(std::string_view code, std::string_view listener) {
  return fmt::format("holdfast_ingress_refusals_total{{code=\"{}\",listener=\"{}\"}}", code,
                     listener);
}

class HostileClients : public testing::Test {
 protected:
  HostileClients() { fixture_.add_agent({"web"}); }
  void others_are_served() {
    RawClient good(web_);
    good.send("hello");
    EXPECT_TRUE(fixture_.answers(good, "hello"));
  }

  IngressFixture fixture_{{.max_connections = 40,
                           .max_connections_per_address = 30,
                           .max_waiting_per_address = 20,
                           .head_timeout = 500ms,
                           .half_closed_patience = 300ms,
                           .linger = 100ms}};
  const std::string web_ = fixture_.listen("tcp:127.0.0.1:0=web");
  const std::string sni_ = fixture_.listen("sni:127.0.0.1:0=web");
  const std::string public_ = fixture_.listen_public();
};

TEST_F(HostileClients, WhoSaysNothingOrOneByteAtATimeIsCut) {
  std::list<RawClient> silent;
  for (int i = 0; i < 8; ++i) silent.emplace_back(i % 2 == 0 ? sni_ : public_);
  for (RawClient& each : silent) each.send("\x16");
  others_are_served();
  EXPECT_TRUE(fixture_.until(
      [&] {
        for (RawClient& each : silent) each.send(std::string_view("\x03", 1));
        return std::ranges::all_of(silent, [](RawClient& each) { return each.over(); });
      },
      5s));
  EXPECT_EQ(fixture_.ingress->waiting_count(), 0U);
}

TEST_F(HostileClients, GarbageIsRefusedAtItsFirstBytes) {
  RawClient sni(sni_);
  RawClient tls(public_);
  sni.send("GET / HTTP/1.1\r\n\r\n");
  tls.send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(fixture_.until([&] { return sni.over() && tls.over(); }));
  EXPECT_EQ(fixture_.counter(refusals("HF2303", "sni")), 1);
  EXPECT_EQ(fixture_.counter(refusals("HF2309", "public")), 1);
}

TEST_F(HostileClients, AHugeHelloIsRefusedAtItsLimit) {
  RawClient client(sni_);
  client.send(std::string("\x16\x03\x01\x40\x00\x01\x00\xff\xff", 9) + std::string(40'000, 'x'));
  EXPECT_TRUE(fixture_.until([&] { return client.over(); }));
  EXPECT_EQ(fixture_.counter(refusals("HF2303", "sni")), 1);
}

TEST_F(HostileClients, AFloodOfOneAddressStopsAtItsLimit) {
  std::list<RawClient> flood;
  for (int i = 0; i < 35; ++i) flood.emplace_back(sni_);
  const std::string turned_away =
      "holdfast_ingress_turned_away_connections_total{limit=\"address_waiting\"}";
  EXPECT_TRUE(fixture_.until([&] { return fixture_.counter(turned_away) == 15; }));
  EXPECT_EQ(fixture_.ingress->waiting_count(), 20U);
  others_are_served();
  flood.clear();
  EXPECT_TRUE(fixture_.until([&] { return fixture_.ingress->connection_count() == 0; }));
}

TEST_F(HostileClients, WhoNeverReadsHoldsNothingUpButItself) {
  RawClient greedy(web_);
  EXPECT_TRUE(fixture_.until([&] { return greedy.send("x"); }));
  const std::string much(1 << 20, 'y');
  for (int i = 0; i < 50; ++i) {
    greedy.send(much);
    fixture_.fleet.pass(2ms);
  }
  others_are_served();
}

TEST_F(HostileClients, AClientThatLeavesWhileItIsDialledForIsForgotten) {
  fixture_.fleet.silence_agents();
  RawClient gone(web_);
  EXPECT_TRUE(fixture_.until([&] { return fixture_.ingress->connection_count() == 1; }));
  gone.close();
  EXPECT_TRUE(fixture_.until([&] { return fixture_.ingress->connection_count() == 0; }, 3s));
  EXPECT_EQ(fixture_.counter(refusals("HF2307", "tcp")), 1);
}

}  // namespace
}  // namespace holdfast::ingress

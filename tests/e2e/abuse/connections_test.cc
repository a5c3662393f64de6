// Connections that say nonsense, nothing, or half of something, and very many of them.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <memory>

#include "base/rng.h"
#include "e2e/abuse/abuse_fixture.h"
#include "e2e/raw_connections.h"
#include "support/eventually.h"
#include "support/http_client.h"
#include "support/sanitized.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

constexpr size_t kMegabyte = size_t{1} << 20;

// The first bytes of a TLS record that promises 512 bytes of a handshake, and some of them.
const std::string kHalfHello("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);

const std::string kGrpcTaken = "holdfast_grpc_connections_total";
const std::string kGrpcOpen = "holdfast_grpc_connections";
const std::string kGrpcShaken = "holdfast_grpc_handshakes_total";
const std::string kHttpOpen = "holdfast_http_connections";
std::string grpc_refused(const std::string& limit) {
  return "holdfast_grpc_refused_connections_total{reason=\"" + limit + "\"}";
}
std::string http_cut(const std::string& reason) {
  return "holdfast_http_cut_connections_total{reason=\"" + reason + "\"}";
}

class AbusiveConnections : public Abuse {
 protected:
  // The middle of so many calls one after the other, by somebody else.
  Duration usual_call_time(int calls) {
    std::vector<Duration> times;
    ApiClient other(controller_.tcp_server(), controller_.admin());
    for (int i = 0; i < calls; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      EXPECT_TRUE(other.list_status({"service"}).ok());
      times.push_back(std::chrono::steady_clock::now() - begin);
    }
    std::ranges::sort(times);
    return times[times.size() / 2];
  }
  std::string random_bytes(size_t most) {
    std::string bytes;
    for (size_t size = 1 + rng_.below(most); size > 0; --size) {
      bytes += static_cast<char>(rng_.below(256));
    }
    return bytes;
  }

  Rng rng_{11};
};

TEST_F(AbusiveConnections, RandomBytesInsteadOfAHandshakeDisturbNobody) {
  constexpr int kCount = 200;
  const double taken = metric(kGrpcTaken);
  const double shaken = metric(kGrpcShaken);
  const double failed = metric(http_cut("handshake_failed"));
  {
    RawConnections to_grpc(controller_.port());
    RawConnections to_https(controller_.https_port());
    const std::string openings[] = {"", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET / HTTP/1.1\r\n",
                                    kHalfHello};
    for (int i = 0; i < kCount; ++i) {
      const std::string bytes = openings[i % 4] + random_bytes(2'000);
      ASSERT_TRUE(to_grpc.open(bytes));
      ASSERT_TRUE(to_https.open(bytes));
    }
    expect_others_are_served();
  }
  EXPECT_TRUE(grows(kGrpcTaken, taken, kCount));
  EXPECT_TRUE(grows(http_cut("handshake_failed"), failed, kCount));
  EXPECT_LT(metric(kGrpcShaken), shaken + 10) << "only the others spoke TLS";
  expect_others_are_served();
}

TEST_F(AbusiveConnections, AHandshakeThatNeverEndsIsCut) {
  const double cut = metric(http_cut("handshake_timeout"));
  const double open = metric(kGrpcOpen);
  RawConnections to_grpc(controller_.port());
  RawConnections to_https(controller_.https_port());
  for (int i = 0; i < 50; ++i) {
    const std::string bytes = i % 2 == 0 ? "" : kHalfHello;
    ASSERT_TRUE(to_grpc.open(bytes));
    ASSERT_TRUE(to_https.open(bytes));
  }
  EXPECT_TRUE(grows(kGrpcOpen, open, 50));
  expect_others_are_served();

  EXPECT_TRUE(eventually([&] { return to_grpc.still_open() == 0; }, 15s)) << to_grpc.still_open();
  EXPECT_TRUE(eventually([&] { return to_https.still_open() == 0; }, 5s)) << to_https.still_open();
  EXPECT_TRUE(grows(http_cut("handshake_timeout"), cut, 50));
  EXPECT_TRUE(eventually([&] { return metric(kGrpcOpen) < open + 50; }, 5s));
  expect_others_are_served();
}

TEST_F(AbusiveConnections, HalfAHeaderAndThenSilenceIsCut) {
  const double cut = metric(http_cut("header_timeout"));
  std::vector<std::unique_ptr<HttpClient>> slow;
  for (int i = 0; i < 20; ++i) {
    slow.push_back(std::make_unique<HttpClient>(controller_.https_server()));
    ASSERT_TRUE(slow.back()->start_tls(nullptr));
    ASSERT_TRUE(slow.back()->send("GET /v1/services HTTP/1.1\r\nHost: te"));
  }
  expect_others_are_served();

  // A byte now and then does not help: the time is for the whole header.
  int sent = 0;
  const auto all_are_cut = [&] {
    sent += 1;
    return std::ranges::none_of(slow, [](const auto& client) { return client->send("x"); });
  };
  EXPECT_TRUE(eventually(all_are_cut, 15s)) << sent;
  EXPECT_GT(sent, 1);
  EXPECT_TRUE(grows(http_cut("header_timeout"), cut, 20));
  expect_others_are_served();
}

TEST_F(AbusiveConnections, FiveThousandIdleConnectionsSlowNobodyDown) {
  constexpr size_t kEach = 2'500;
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  if (limit.rlim_max < 8'000) GTEST_SKIP() << "only " << limit.rlim_max << " descriptors here";
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  const Duration before = usual_call_time(100);
  const size_t memory = controller_.memory_bytes();
  const std::string of_address =
      "holdfast_http_refused_connections_total{reason=\"address_waiting\"}";
  const double http_refused = metric(of_address);
  RawConnections to_grpc(controller_.port());
  RawConnections to_https(controller_.https_port());
  for (size_t i = 0; i < kEach; ++i) {
    ASSERT_TRUE(to_grpc.open("")) << i;
    ASSERT_TRUE(to_https.open("")) << i;
  }
  EXPECT_TRUE(grows(kGrpcOpen, 0, kEach));
  // HTTPS has more room for handshakes than it gives to one address.
  EXPECT_TRUE(grows(of_address, http_refused, kEach - 256));
  HttpClient other(controller_.https_server(), "127.0.0.2");
  EXPECT_TRUE(other.start_tls(nullptr)) << "others get in";

  const Duration during = usual_call_time(100);
  EXPECT_LT(during, before + 100ms * kSanitizerCost);
  EXPECT_LT(controller_.memory_bytes(), memory + 300 * kMegabyte * kSanitizerCost);
}

TEST_F(AbusiveConnections, AThousandIdleConnectionsWithTlsSlowNobodyDown) {
  constexpr int kEach = 500;
  const Duration before = usual_call_time(100);
  const double shaken = metric(kGrpcShaken);
  const double open = metric(kHttpOpen);
  std::vector<std::unique_ptr<HttpClient>> idle;
  for (int i = 0; i < kEach; ++i) {
    idle.push_back(std::make_unique<HttpClient>(controller_.https_server()));
    ASSERT_TRUE(idle.back()->start_tls(nullptr)) << i;
    idle.push_back(std::make_unique<HttpClient>(controller_.tcp_server()));
    ASSERT_TRUE(idle.back()->start_tls(nullptr, "h2")) << i;
  }
  EXPECT_TRUE(grows(kHttpOpen, open, kEach));
  EXPECT_TRUE(grows(kGrpcShaken, shaken, kEach));

  const Duration during = usual_call_time(100);
  EXPECT_LT(during, before + 100ms * kSanitizerCost);
  expect_others_are_served();
}

class FewConnections : public Abuse {
 protected:
  FewConnections() : Abuse({"--set", "limits.connections=40"}) {}
};

TEST_F(FewConnections, MoreThanTheLimitAreClosedAsTheyComeUntilOthersLeave) {
  const double refused = metric(grpc_refused("connections"));
  {
    RawConnections many(controller_.port());
    RawConnections more(controller_.port(), 2);
    for (int i = 0; i < 25; ++i) ASSERT_TRUE(many.open(""));
    for (int i = 0; i < 25; ++i) ASSERT_TRUE(more.open(""));
    EXPECT_TRUE(grows(grpc_refused("connections"), refused, 10));
    EXPECT_TRUE(eventually([&] { return many.still_open() + more.still_open() <= 40; }, 5s));
    EXPECT_LE(metric(kGrpcOpen), 40);
    EXPECT_EQ(controller_.cli({"get", "services"}).exit_code, 0) << "the socket has its own";
  }
  EXPECT_TRUE(eventually([&] { return metric(kGrpcOpen) < 10; }, 10s));
  expect_others_are_served();
}

TEST_F(FewConnections, OneAddressLeavesRoomForOthersUntilItsOwnLeave) {
  // Whoever the fixture was before: its connection may still be open.
  ASSERT_TRUE(eventually([&] { return metric(kGrpcOpen) == 0; }, 10s));
  {
    RawConnections many(controller_.port(), 2);
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(many.open(""));

    EXPECT_TRUE(grows(grpc_refused("address"), 0, 70));
    EXPECT_TRUE(eventually([&] { return many.still_open() <= 30; }, 5s)) << many.still_open();
    EXPECT_EQ(metric(grpc_refused("connections")), 0);
    expect_others_are_served();
  }
  EXPECT_TRUE(eventually([&] { return metric(kGrpcOpen) < 10; }, 10s));
  EXPECT_TRUE(HttpClient(controller_.tcp_server(), "127.0.0.2").start_tls(nullptr, "h2"));
}

}  // namespace
}  // namespace holdfast::test

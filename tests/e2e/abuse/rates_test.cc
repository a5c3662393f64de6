// Callers that ask too much: too fast, or with too many streams at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/abuse/abuse_fixture.h"
#include "e2e/idle_watches.h"
#include "holdfast/v1/identity.grpc.pb.h"
#include "support/eventually.h"
#include "support/http_client.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

const std::string kOverRate = "holdfast_requests_over_rate_total";

class AbusiveRates : public Abuse {
 protected:
  AbusiveRates()
      : Abuse({"--set", "limits.requests_per_second=2", "--set", "limits.request_burst=40"}) {}
};

TEST_F(AbusiveRates, AUserOverItsRateIsRefusedAndOthersAreNot) {
  const double before = metric(kOverRate);
  ApiClient busy(controller_.tcp_server(), controller_.certificate_for("busy", {"viewer"}));
  int refused = 0;
  for (int i = 0; i < 300; ++i) {
    const grpc::Status status = busy.list_status({"service"});
    if (status.ok()) continue;
    ASSERT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    ASSERT_THAT(status.error_message(), HasSubstr("HF5011"));
    refused += 1;
  }

  EXPECT_GT(refused, 100);
  expect_others_are_served();
  EXPECT_TRUE(grows(kOverRate, before, refused));
  EXPECT_TRUE(eventually([&] { return busy.list_status({"service"}).ok(); }, 10s))
      << "who slows down is served again";
}

TEST_F(AbusiveRates, TheSameUserHasOneRateOverGrpcAndHttps) {
  const rpc::TlsOptions user = controller_.certificate_for("busy", {"viewer"});
  ApiClient busy(controller_.tcp_server(), user);
  for (int i = 0; i < 100; ++i) busy.list_status({"service"});
  const TestCertificate own{user.certificate_pem, user.private_key_pem};
  Reply last;
  HttpClient https(controller_.https_server());
  ASSERT_TRUE(https.start_tls(&own));
  for (int i = 0; i < 50 && last.status != 429; ++i) last = https.ask("GET /v1/services");

  EXPECT_EQ(last.status, 429);
  EXPECT_THAT(last.body, HasSubstr("HF5011"));
  expect_others_are_served();
}

TEST_F(AbusiveRates, CallersWithoutACertificateHaveARatePerHost) {
  const double before = metric(kOverRate);
  int refused = 0;
  for (int connection = 0; connection < 4; ++connection) {
    const auto stub = v1::Identity::NewStub(
        rpc::make_channel(controller_.tcp_server(), {.tls = controller_.nobody()}));
    for (int i = 0; i < 100; ++i) {
      grpc::ClientContext context;
      v1::Authority response;
      const grpc::Status status = stub->GetAuthority(&context, {}, &response);
      refused += status.error_message().contains("HF5011") ? 1 : 0;
    }
  }

  EXPECT_GT(refused, 50);
  expect_others_are_served();
  EXPECT_TRUE(grows(kOverRate, before, refused));
}

class AbusiveStreams : public Abuse {};

TEST_F(AbusiveStreams, TooManyOnAConnectionWaitAndOthersGoOn) {
  constexpr size_t kMost = 1'024;
  const double before = metric("holdfast_watchers");
  ApiClient client(controller_.tcp_server(), controller_.admin());
  IdleWatches watches(client);
  watches.open(kMost + 100, watch_request({"service"}), IdleWatches::Reads::FirstMessage);
  ASSERT_TRUE(eventually([&] { return watches.answered() >= kMost; }, 10s)) << watches.answered();

  expect_others_are_served();
  EXPECT_EQ(watches.answered(), kMost);
  EXPECT_TRUE(grows("holdfast_watchers", before, kMost));
  EXPECT_LT(metric("holdfast_watchers"), before + kMost + 2);
  watches.cancel(200);
  EXPECT_TRUE(eventually([&] { return watches.answered() == kMost + 100; }, 10s))
      << watches.answered();
}

}  // namespace
}  // namespace holdfast::test

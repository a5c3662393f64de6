// Messages and bodies far over the limit: refused early, without taking their room.
#include <gtest/gtest.h>

#include "e2e/abuse/abuse_fixture.h"
#include "support/http_client.h"
#include "support/sanitized.h"

namespace holdfast::test {
namespace {

constexpr size_t kSizesMegabyte = size_t{1} << 20;
constexpr size_t kMoreMemory = 32 * kSizesMegabyte * kSanitizerCost;

class AbusiveSizes : public Abuse {
 protected:
  AbusiveSizes() {
    EXPECT_TRUE(https_.start_tls(&own_));
    memory_ = controller_.memory_bytes();
  }
  // Sends so much of a body, or less if the server has heard enough.
  void send_body(size_t bytes, const std::string& piece) {
    for (size_t sent = 0; sent < bytes; sent += piece.size()) {
      if (!https_.send(piece)) return;
    }
  }

  const TestCertificate own_ = admin_certificate();
  HttpClient https_{controller_.https_server()};
  size_t memory_ = 0;
  const std::string refused_ = "holdfast_http_requests_total{code=\"413\"}";
};

// gRPC looks at the size of a message once it has all of it; what all of them may take together is
// bounded.
TEST_F(AbusiveSizes, MessagesOfHundredsOfMegabytesOverGrpcAreRefused) {
  constexpr size_t kMostBuffered = 128 * kSizesMegabyte;
  ApiClient client(controller_.tcp_server(), controller_.admin());
  v1::Resource huge = service("huge");
  huge.mutable_metadata()->set_description(std::string(400 * kSizesMegabyte, 'x'));

  EXPECT_EQ(client.upsert(huge).status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);

  EXPECT_LT(controller_.peak_memory_bytes(), memory_ + kMostBuffered + 2 * kMoreMemory);
  EXPECT_EQ(client.get("service", "huge").status.error_code(), grpc::StatusCode::NOT_FOUND);
  expect_others_are_served();
}

TEST_F(AbusiveSizes, AHundredMegabytesOverHttpsAreRefusedByTheirHeader) {
  const double before = metric(refused_);
  ASSERT_TRUE(
      https_.send("PUT /v1/services/huge HTTP/1.1\r\nHost: test\r\n"
                  "Content-Type: application/json\r\nContent-Length: 104857600\r\n\r\n"));

  EXPECT_EQ(https_.read_reply().status, 413);
  send_body(100 * kSizesMegabyte, std::string(kSizesMegabyte, 'x'));

  EXPECT_TRUE(https_.is_closed());
  EXPECT_TRUE(grows(refused_, before));
  EXPECT_LT(controller_.memory_bytes(), memory_ + kMoreMemory);
  expect_others_are_served();
}

TEST_F(AbusiveSizes, AHundredMegabytesInChunksAreRefusedOnceTheyAreTooMany) {
  const double before = metric(refused_);
  ASSERT_TRUE(
      https_.send("PUT /v1/services/huge HTTP/1.1\r\nHost: test\r\n"
                  "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"));
  const std::string chunk = "10000\r\n" + std::string(0x10000, 'x') + "\r\n";
  send_body(100 * kSizesMegabyte, chunk);

  EXPECT_TRUE(grows(refused_, before));
  EXPECT_LT(controller_.memory_bytes(), memory_ + kMoreMemory);
  expect_others_are_served();
}

TEST_F(AbusiveSizes, AHeaderOfAMegabyteIsRefused) {
  const double before = metric("holdfast_http_requests_total{code=\"431\"}");
  https_.send("GET /v1/services HTTP/1.1\r\nX-Long: " + std::string(kSizesMegabyte, 'x'));

  EXPECT_TRUE(grows("holdfast_http_requests_total{code=\"431\"}", before));
  EXPECT_LT(controller_.memory_bytes(), memory_ + kMoreMemory);
  expect_others_are_served();
}

}  // namespace
}  // namespace holdfast::test

#include "e2e/abuse/abuse_fixture.h"

#include <chrono>

#include "support/eventually.h"
#include "support/http_client.h"
#include "support/sanitized.h"

namespace holdfast::test {

using namespace std::chrono_literals;

TestCertificate Abuse::admin_certificate() const {
  return {.certificate_pem = controller_.admin().certificate_pem,
          .private_key_pem = controller_.admin().private_key_pem};
}

void Abuse::expect_others_are_served() {
  ASSERT_TRUE(controller_.running()) << controller_.log();
  const auto begin = std::chrono::steady_clock::now();
  ApiClient other(controller_.tcp_server(), controller_.admin());
  WatchReader watch(other, watch_request({"service"}));
  ASSERT_TRUE(watch.wait_for(1)) << watch.end().error_message();
  ASSERT_TRUE(other.upsert(service("other")).status.ok());
  ASSERT_TRUE(watch.wait_for(2)) << watch.end().error_message();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s * kSanitizerCost) << "gRPC";

  const auto begin_https = std::chrono::steady_clock::now();
  HttpClient https(controller_.https_server());
  const TestCertificate own = admin_certificate();
  ASSERT_TRUE(https.start_tls(&own));
  EXPECT_EQ(https.ask("GET /v1/services/other").status, 200);
  EXPECT_LT(std::chrono::steady_clock::now() - begin_https, 5s * kSanitizerCost) << "HTTPS";
}

double Abuse::metric(const std::string& sample) const {
  const std::string text = HttpClient(controller_.health_server()).ask("GET /metrics").body;
  const size_t at = text.find("\n" + sample + " ");
  return at == std::string::npos ? 0 : std::stod(text.substr(at + sample.size() + 2));
}

testing::AssertionResult Abuse::grows(const std::string& sample, double before,
                                      double least) const {
  if (eventually([&] { return metric(sample) >= before + least; }, 15s)) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << sample << " was " << before << " and is " << metric(sample)
                                     << ", not " << least << " more";
}

}  // namespace holdfast::test

// The probe handler under callers that are many, slow or silent: probes are answered all the same,
// and nothing grows.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "e2e/probe_app.h"
#include "e2e/probe_apps.h"
#include "e2e/probe_process.h"
#include "e2e/raw_connections.h"
#include "support/eventually.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* kReplaced = R"(holdfast_http_cut_connections_total{reason="replaced"})";

void want_descriptors() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// Patient probes: the application is this process, which may stand still on a busy machine.
std::string list_for(const ProbeApp& app) {
  return fmt::format(R"([{{"httpGet":{{"path":"/ok","port":{0}}},"timeoutSeconds":60}},)"
                     R"({{"httpGet":{{"path":"/hang","port":{0}}},"timeoutSeconds":60}},)"
                     R"({{"tcpSocket":{{"port":{0}}},"timeoutSeconds":60}}])",
                     app.port());
}

TEST(ProbeAbuse, TenThousandIdleConnectionsShutNobodyOut) {
  want_descriptors();
  ProbeApp app;
  const ProbeHandler handler(list_for(app));
  RawConnections idle(handler.port());
  size_t opened = 0;
  for (int i = 0; i < 10'000; ++i) opened += idle.open("") ? 1 : 0;
  if (opened < 10'000) GTEST_LOG_(INFO) << "only " << opened << " connections could be opened";

  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(handler.get(fmt::format("/{}/ok", app.port())).status, 200);
  }

  EXPECT_LE(handler.metric("holdfast_http_connections"), 4'096 + 1);
  if (opened == 10'000) EXPECT_GT(handler.metric(kReplaced), 5'000);
  EXPECT_LE(handler.descriptor_count(), 4'096u + 100u);
}

TEST(ProbeAbuse, SlowHeadersAreCutAndProbesAnsweredMeanwhile) {
  ProbeApp app;
  const ProbeHandler handler(list_for(app));
  RawConnections slow(handler.port());
  for (int i = 0; i < 500; ++i) ASSERT_TRUE(slow.open("GET /healthz HTTP/1.1\r\nX: "));

  EXPECT_EQ(handler.get(fmt::format("/{}/ok", app.port())).status, 200);
  EXPECT_TRUE(eventually([&] { return slow.still_open() == 0; }, 15s));
  EXPECT_EQ(handler.metric(R"(holdfast_http_cut_connections_total{reason="header_timeout"})"), 500);
}

TEST(ProbeAbuse, WithFewDescriptorsIdleConnectionsTakeNoneFromProbes) {
  ProbeApp app;
  const ProbeHandler handler(
      {.environment = {"HOLDFAST_DATAPLANE_PROBES=" + list_for(app)}, .max_descriptors = 64});
  RawConnections idle(handler.port());
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(idle.open(""));

  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(handler.get(fmt::format("/{}/ok", app.port())).status, 200);
  }

  EXPECT_LE(handler.metric("holdfast_http_connections"), 17);
  EXPECT_GT(handler.metric(kReplaced), 100);
}

TEST(ProbeAbuse, ThousandsOfProbesLeaveNoDescriptorsAndNoTimeWait) {
  ProbeApp app;
  const ProbeHandler handler(list_for(app));
  const std::string http = fmt::format("/{}/ok", app.port());
  const std::string tcp = fmt::format("/tcp/{}", app.port());
  ASSERT_EQ(handler.get(http).status, 200);
  const size_t before = handler.descriptor_count();

  for (int i = 0; i < 3'000; ++i) {
    ASSERT_EQ(handler.get(i % 2 == 0 ? http : tcp).status, 200);
  }

  EXPECT_TRUE(eventually([&] { return handler.descriptor_count() <= before + 2; }, 5s));
  EXPECT_LE(time_waits_of(handler.port()), 10u) << "the caller closes first";
  EXPECT_LE(time_waits_of(app.port()), 10u) << "connections to the application are reset";
}

TEST(ProbeAbuse, ProbesUnderTlsAndByGrpcLeaveNothingBehindEither) {
  const TlsApp tls;
  const GrpcApp grpc;
  const ProbeHandler handler(
      fmt::format(R"([{{"httpGet":{{"path":"/","port":{},"scheme":"HTTPS"}},"timeoutSeconds":60}},)"
                  R"({{"grpc":{{"port":{}}},"timeoutSeconds":60}}])",
                  tls.port(), grpc.port()));
  const std::string https = fmt::format("/{}/", tls.port());
  const std::string health = fmt::format("/grpc/{}", grpc.port());
  ASSERT_EQ(handler.get(https).status, 200);
  ASSERT_EQ(handler.get(health).status, 200);
  const size_t before = handler.descriptor_count();

  for (int i = 0; i < 600; ++i) {
    ASSERT_EQ(handler.get(i % 2 == 0 ? https : health).status, 200) << i;
  }

  EXPECT_TRUE(eventually([&] { return handler.descriptor_count() <= before + 2; }, 20s));
  EXPECT_LE(time_waits_of(handler.port()), 10u);
  EXPECT_LE(time_waits_of(tls.port()), 10u);
  EXPECT_LE(time_waits_of(grpc.port()), 10u);
}

TEST(ProbeAbuse, CallersThatGiveUpLeaveNothingBehind) {
  ProbeApp app;
  const ProbeHandler handler(list_for(app));
  const size_t before = handler.descriptor_count();
  {
    RawConnections impatient(handler.port());
    const std::string request = fmt::format("GET /{}/hang HTTP/1.1\r\nHost: a\r\n\r\n", app.port());
    for (int i = 0; i < 300; ++i) ASSERT_TRUE(impatient.open(request));
    ASSERT_TRUE(eventually([&] { return app.hanging() >= 100; }, 60s));
  }

  EXPECT_TRUE(eventually([&] { return app.hanging() == 0; }, 10s));
  EXPECT_TRUE(eventually([&] { return handler.descriptor_count() <= before + 2; }, 5s));
}

}  // namespace
}  // namespace holdfast::test

// Every kind of probe through the handler, with gRPC's own server and with TLS.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/probe_apps.h"
#include "e2e/probe_process.h"
#include "support/free_ports.h"

namespace holdfast::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string grpc_probe(uint16_t port, const std::string& service) {
  return fmt::format(R"({{"grpc":{{"port":{},"service":"{}"}}}})", port, service);
}

TEST(ProbeKinds, HttpsIsHealthyWithACertificateThatNobodySigned) {
  const TlsApp app;
  const ProbeHandler handler(
      fmt::format(R"([{{"httpGet":{{"path":"/a?b","port":{},"scheme":"HTTPS"}}}}])", app.port()));

  const Reply reply = handler.get(fmt::format("/{}/a?b", app.port()));

  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(header(reply, "Holdfast-Probe-Status"), "200");
}

TEST(ProbeKinds, GrpcIsHealthyOnlyIfItServes) {
  GrpcApp app;
  const uint16_t closed = free_ports(1)[0];
  app.set_serving("live", true);
  app.set_serving("a/b", true);
  app.set_serving("sick", false);
  const ProbeHandler handler(
      fmt::format(R"([{},{},{},{},{},{{"grpc":{{"port":{}}}}}])", grpc_probe(app.port(), ""),
                  grpc_probe(app.port(), "live"), grpc_probe(app.port(), "a/b"),
                  grpc_probe(app.port(), "sick"), grpc_probe(app.port(), "unknown"), closed));
  const auto asked = [&](const std::string& service) {
    return handler.get(fmt::format("/grpc/{}{}", app.port(), service));
  };

  EXPECT_EQ(asked("").status, 200);
  EXPECT_EQ(asked("/live").status, 200);
  EXPECT_EQ(asked("/a%2Fb").status, 200);
  EXPECT_EQ(asked("/a/b").status, 404) << "another path than the encoded one";
  EXPECT_EQ(asked("/").status, 404);
  const Reply sick = asked("/sick");
  EXPECT_EQ(sick.status, 503);
  EXPECT_THAT(sick.body, HasSubstr("NOT_SERVING"));
  EXPECT_EQ(asked("/unknown").status, 503);
  const Reply refused = handler.get(fmt::format("/grpc/{}", closed));
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.body, StartsWith("HF70"));
  EXPECT_EQ(header(refused, "Holdfast-Probe-Status"), "0");
}

TEST(ProbeKinds, ProbesOfOnePathAndDifferentSettingsAreToldApart) {
  const TlsApp app;
  const std::string plain = fmt::format(R"({{"httpGet":{{"path":"/","port":{}}}}})", app.port());
  const std::string tls =
      fmt::format(R"({{"httpGet":{{"path":"/","port":{},"scheme":"HTTPS"}}}})", app.port());
  const ProbeHandler handler(fmt::format("[{},{}]", plain, tls));

  EXPECT_EQ(handler.get(fmt::format("/{}/", app.port())).status, 503);
  EXPECT_EQ(handler.get(fmt::format("/{}~2/", app.port())).status, 200);
}

}  // namespace
}  // namespace holdfast::test

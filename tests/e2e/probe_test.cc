// The probe handler as a process: what callers get for what the application does.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>

#include "e2e/probe_app.h"
#include "e2e/probe_process.h"
#include "support/eventually.h"
#include "support/free_ports.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::Each;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string http_probe(uint16_t port, const std::string& path, const std::string& more = "") {
  return fmt::format(R"({{"httpGet":{{"path":"{}","port":{}}}{}}})", path, port, more);
}

// The application is this process, which may stand still for a second on a busy machine.
constexpr const char* kPatient = ",\"timeoutSeconds\":60";

std::string list(const std::vector<std::string>& probes) {
  return fmt::format("[{}]", fmt::join(probes, ","));
}

double seconds_since(Time start) {
  return std::chrono::duration<double>(SystemClock().now() - start).count();
}

void write(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

TEST(ProbeHandlerTest, EveryStatusOfTheApplicationIs200Or503WithItsOwnCode) {
  ProbeApp app;
  std::vector<std::string> probes;
  for (int status = 199; status <= 600; ++status) {
    probes.push_back(http_probe(app.port(), fmt::format("/status/{}", status), kPatient));
  }
  const ProbeHandler handler(list(probes));

  for (int status = 199; status <= 600; ++status) {
    const Reply reply = handler.get(fmt::format("/{}/status/{}", app.port(), status));
    EXPECT_EQ(reply.status, status >= 200 && status < 400 ? 200 : 503) << status;
    if (status >= 200) {
      EXPECT_EQ(header(reply, "Holdfast-Probe-Status"), fmt::format("{}", status));
    }
    EXPECT_THAT(reply.body, Not(HasSubstr("secret"))) << "the application's body is its own";
    EXPECT_EQ(reply.body.find('\n'), reply.body.size() - 1) << reply.body;
  }
}

TEST(ProbeHandlerTest, APathReachesTheApplicationByteForByte) {
  ProbeApp app;
  const std::vector<std::string> paths = {"/",          "/a//b",        "/a%2Fb", "/a/../b",
                                          "/?",         "/x?a=b&c=%20", "///",    "/a;b=c",
                                          "/%e2%82%ac", "/~1"};
  std::vector<std::string> probes;
  for (const std::string& path : paths) {
    probes.push_back(http_probe(app.port(), path, kPatient));
  }
  const ProbeHandler handler(list(probes));

  for (const std::string& path : paths) {
    EXPECT_EQ(handler.get(fmt::format("/{}{}", app.port(), path)).status, 200) << path;
    EXPECT_THAT(app.heads().back(), StartsWith("GET " + path + " HTTP/1.1\r\n"));
  }
}

TEST(ProbeHandlerTest, AHostInThePathIsLeftOutAsTheKubeletDoes) {
  ProbeApp app;
  const ProbeHandler handler(
      list({http_probe(app.port(), "//healthz"), http_probe(app.port(), "http://x/y?z")}));

  EXPECT_EQ(handler.get(fmt::format("/{}//healthz", app.port())).status, 200);
  EXPECT_THAT(app.heads().back(), StartsWith("GET / HTTP/1.1\r\n"));
  EXPECT_EQ(handler.get(fmt::format("/{}/http://x/y?z", app.port())).status, 200);
  EXPECT_THAT(app.heads().back(), StartsWith("GET /y?z HTTP/1.1\r\n"));
}

TEST(ProbeHandlerTest, NothingOfTheCallersRequestReachesTheApplication) {
  ProbeApp app;
  const ProbeHandler handler(list({http_probe(app.port(), "/h")}));
  HttpClient client(handler.address());
  client.send(
      fmt::format("GET /{}/h HTTP/1.1\r\nHost: evil.example\r\nX-Kuma-Probes-Host: evil.example\r\n"
                  "X-Kuma-Probes-Scheme: HTTPS\r\nX-Kuma-Probes-Timeout: 3600\r\n"
                  "X-Kuma-Probes-GRPC-Service: s\r\nHoldfast-Probe-Timeout: 3600\r\nAuthorization: "
                  "Basic eA==\r\n"
                  "User-Agent: mine\r\nX-Forwarded-For: 1.2.3.4\r\nAccept-Encoding: gzip\r\n"
                  "Connection: X-Hop\r\nX-Hop: 1\r\nContent-Length: 4\r\n\r\nbody",
                  app.port()));

  EXPECT_EQ(client.read_reply().status, 200);

  ASSERT_EQ(app.heads().size(), 1u);
  EXPECT_EQ(app.heads()[0],
            fmt::format("GET /h HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nUser-Agent: kube-probe/1.0\r\n"
                        "Accept: */*\r\nConnection: close\r\n\r\n",
                        app.port()));
}

TEST(ProbeHandlerTest, TheRegistrysHeadersReachTheApplication) {
  ProbeApp app;
  const std::string headers =
      R"([{"name":"host","value":"shop.example"},{"name":"X-A","value":"1"}])";
  const ProbeHandler handler(list({fmt::format(
      R"({{"httpGet":{{"path":"/h","port":{},"httpHeaders":{}}}}})", app.port(), headers)}));

  EXPECT_EQ(handler.get(fmt::format("/{}/h", app.port())).status, 200);

  ASSERT_EQ(app.heads().size(), 1u);
  EXPECT_THAT(app.heads()[0], HasSubstr("Host: shop.example\r\n"));
  EXPECT_THAT(app.heads()[0], HasSubstr("X-A: 1\r\n"));
}

TEST(ProbeHandlerTest, AProxyOfTheEnvironmentIsNotAsked) {
  ProbeApp app;
  const std::string nobody = fmt::format("=http://127.0.0.1:{}", free_ports(1)[0]);
  const ProbeHandler handler(
      {.environment = {"HOLDFAST_DATAPLANE_PROBES=" + list({http_probe(app.port(), "/h")}),
                       "http_proxy" + nobody, "HTTP_PROXY" + nobody, "all_proxy" + nobody}});

  EXPECT_EQ(handler.get(fmt::format("/{}/h", app.port())).status, 200);
}

TEST(ProbeHandlerTest, ATcpProbeIsAConnectionThatWasMadeOrNot) {
  ProbeApp app;
  const uint16_t closed = free_ports(1)[0];
  const ProbeHandler handler(list({fmt::format(R"({{"tcpSocket":{{"port":{}}}}})", app.port()),
                                   fmt::format(R"({{"tcpSocket":{{"port":{}}}}})", closed)}));

  EXPECT_EQ(handler.get(fmt::format("/tcp/{}", app.port())).status, 200);
  EXPECT_TRUE(eventually([&] { return app.accepted() == 1; }, 5s));
  const Reply refused = handler.get(fmt::format("/tcp/{}", closed));
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.body, StartsWith("HF7001"));
  EXPECT_EQ(app.requests(), 0u);
}

TEST(ProbeHandlerTest, AProbeTakesAsLongAsTheRegistrySaysAndOneSecondIfItDoesNot) {
  ProbeApp app;
  const ProbeHandler handler(list({http_probe(app.port(), "/hang"),
                                   http_probe(app.port(), "/hang/3", ",\"timeoutSeconds\":3"),
                                   http_probe(app.port(), "/hang/0", ",\"timeoutSeconds\":0"),
                                   http_probe(app.port(), "/hang/60", kPatient)}));
  HttpClient patient(handler.address());
  patient.send(fmt::format("GET /{}/hang/60 HTTP/1.1\r\nHost: a\r\n\r\n", app.port()));
  ASSERT_TRUE(eventually([&] { return app.hanging() == 1; }, 20s));
  const auto timed = [&](const std::string& path) {
    const Time start = SystemClock().now();
    const Reply reply = handler.get(fmt::format("/{}{}", app.port(), path));
    EXPECT_EQ(reply.status, 503);
    EXPECT_THAT(reply.body, StartsWith("HF7002"));
    return seconds_since(start);
  };

  EXPECT_GE(timed("/hang"), 0.9);
  EXPECT_GE(timed("/hang/0"), 0.9);
  EXPECT_GE(timed("/hang/3"), 2.9);
  EXPECT_TRUE(eventually([&] { return app.hanging() == 1; }, 20s))
      << "their connections are closed, long before that of the patient one";
}

TEST(ProbeHandlerTest, ACallerThatGoesAwayCancelsItsProbe) {
  ProbeApp app;
  const ProbeHandler handler(list({http_probe(app.port(), "/hang", kPatient)}));
  {
    HttpClient client(handler.address());
    client.send(fmt::format("GET /{}/hang HTTP/1.1\r\nHost: a\r\n\r\n", app.port()));
    ASSERT_TRUE(eventually([&] { return app.hanging() == 1; }, 5s));
  }

  EXPECT_TRUE(eventually([&] { return app.hanging() == 0; }, 10s));
  EXPECT_TRUE(eventually(
      [&] {
        return handler.metric(fmt::format(
                   R"(holdfast_probe_outcomes_total{{outcome="cancelled",probe="/{}/hang"}})",
                   app.port())) == 1;
      },
      10s));
}

TEST(ProbeHandlerTest, AHookIsAnsweredWhateverTheApplicationSaysAndResetIfItSaysNothing) {
  ProbeApp app;
  const uint16_t closed = free_ports(1)[0];
  const ProbeHandler handler(list({http_probe(app.port(), "/status/500", ",\"hook\":true"),
                                   http_probe(closed, "/bye", ",\"hook\":true")}));

  const Reply reply = handler.get(fmt::format("/hook/{}/status/500", app.port()));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(header(reply, "Holdfast-Probe-Status"), "500");
  EXPECT_THAT(app.heads().back(), HasSubstr("User-Agent: kube-lifecycle/"));

  HttpClient client(handler.address());
  client.send(fmt::format("GET /hook/{}/bye HTTP/1.1\r\nHost: a\r\n\r\n", closed));
  char byte = 0;
  EXPECT_EQ(::recv(client.socket(), &byte, 1, 0), -1);
  EXPECT_EQ(errno, ECONNRESET);
}

TEST(ProbeHandlerTest, ItAnswersOnIpv4AndIpv6AndProbesIpv6) {
  ProbeApp app("::1");
  const ProbeHandler handler(
      {.environment = {"HOLDFAST_DATAPLANE_PROBES=" + list({http_probe(app.port(), "/h")}),
                       "HOLDFAST_PROBE_ADDRESS=::1"}});
  const std::string url = fmt::format(":{}/{}/h", handler.port(), app.port());

  for (const std::string host : {"127.0.0.1", "[::1]"}) {
    const ProgramResult asked = run_program(
        {"curl", "-sg", "-w", "%{http_code}", "-o", "/dev/null", "http://" + host + url}, 10s);
    EXPECT_EQ(asked.output, "200") << host;
  }
  EXPECT_THAT(app.heads(), Each(HasSubstr(fmt::format("Host: [::1]:{}\r\n", app.port()))));
}

TEST(ProbeHandlerTest, AKillIsFollowedByTheSameAnswers) {
  ProbeApp app;
  ProbeHandler handler(list({http_probe(app.port(), "/h")}));
  const std::string target = fmt::format("/{}/h", app.port());
  ASSERT_EQ(handler.get(target).status, 200);

  handler.process().kill();
  handler.start();

  EXPECT_EQ(handler.get(target).status, 200);
}

TEST(ProbeHandlerTest, StoppingWaitsASecondForProbesAndExitsWithZero) {
  ProbeApp app;
  const std::string patient = http_probe(app.port(), "/hang", kPatient);
  const std::string hook = http_probe(app.port(), "/hang/hook", ",\"hook\":true");
  ProbeHandler handler(list({patient, hook}));
  HttpClient probe(handler.address());
  HttpClient called(handler.address());
  probe.send(fmt::format("GET /{}/hang HTTP/1.1\r\nHost: a\r\n\r\n", app.port()));
  called.send(fmt::format("GET /hook/{}/hang/hook HTTP/1.1\r\nHost: a\r\n\r\n", app.port()));
  ASSERT_TRUE(eventually([&] { return app.hanging() == 2; }, 5s));

  const Time start = SystemClock().now();
  handler.process().terminate();

  EXPECT_EQ(handler.process().wait(15s), 0);
  EXPECT_GE(seconds_since(start), 0.9);
  EXPECT_LT(seconds_since(start), 10) << "one, and what a busy machine takes";
}

TEST(ProbeHandlerTest, AHangUpReadsTheFileAgainAndKeepsTheOldListIfItIsWrong) {
  ProbeApp app;
  const TempDir folder;
  const std::string file = folder.file("probes.json");
  write(file, list({http_probe(app.port(), "/one")}));
  ProbeHandler handler({.arguments = {"--registry-file", file}});
  const std::string one = fmt::format("/{}/one", app.port());
  const std::string two = fmt::format("/{}/two", app.port());
  ASSERT_EQ(handler.get(one).status, 200);
  ASSERT_EQ(handler.get(two).status, 404);

  write(file, list({http_probe(app.port(), "/two")}));
  ::kill(handler.process().pid(), SIGHUP);
  EXPECT_TRUE(eventually([&] { return handler.get(two).status == 200; }, 5s));
  EXPECT_EQ(handler.get(one).status, 404);
  EXPECT_THAT(handler.metrics(), Not(HasSubstr(one))) << "nobody counts what is not there";

  write(file, "[{");
  ::kill(handler.process().pid(), SIGHUP);
  EXPECT_TRUE(eventually([&] { return handler.log().contains("HF7054"); }, 5s));
  EXPECT_EQ(handler.get(two).status, 200);
}

TEST(ProbeHandlerTest, OurVariableWinsAndKumasIsTaken) {
  ProbeApp app;
  const std::string ours = "HOLDFAST_DATAPLANE_PROBES=" + list({http_probe(app.port(), "/ours")});
  const std::string kumas = "KUMA_DATAPLANE_PROBES=" + list({http_probe(app.port(), "/kumas")});

  const ProbeHandler both({.environment = {ours, kumas}});
  EXPECT_EQ(both.get(fmt::format("/{}/ours", app.port())).status, 200);
  EXPECT_EQ(both.get(fmt::format("/{}/kumas", app.port())).status, 404);
  const ProbeHandler one({.environment = {kumas}});
  EXPECT_EQ(one.get(fmt::format("/{}/kumas", app.port())).status, 200);
}

TEST(ProbeHandlerTest, MetricsHaveASeriesPerProbeAndNoneForWhatCallersMakeUp) {
  ProbeApp app;
  const ProbeHandler handler(
      list({http_probe(app.port(), "/h"), http_probe(app.port(), "/status/500")}));
  handler.get(fmt::format("/{}/h", app.port()));
  handler.get(fmt::format("/{}/status/500", app.port()));
  handler.get("/1/unknown");
  const auto lines = [&] { return std::ranges::count(handler.metrics(), '\n'); };
  const auto before = lines();

  for (int i = 0; i < 100; ++i) handler.get(fmt::format("/1/unknown/{}", i));

  EXPECT_EQ(lines(), before);
  EXPECT_EQ(handler.metric(R"(holdfast_probe_other_requests_total{what="unregistered"})"), 101);
  EXPECT_EQ(handler.metric(fmt::format(
                R"(holdfast_probe_outcomes_total{{outcome="failed",probe="/{}/status/500"}})",
                app.port())),
            1);
  EXPECT_EQ(handler.metric("holdfast_probe_registered"), 2);
}

}  // namespace
}  // namespace holdfast::test

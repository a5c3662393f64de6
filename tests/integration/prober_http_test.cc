// HTTP probes on the wire, against an application that says anything: what the kubelet makes of
// each, which requests it sends, and how it leaves.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probing.h"
#include "scripted_app.h"
#include "support/eventually.h"
#include "support/free_ports.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using probe::Header;
using probe::HttpGet;
using probe::Outcome;
using probe::Probe;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// What one raw answer comes to.
Outcome judged(const std::string& bytes, bool hold = false, Duration timeout = kPatientProbe) {
  ScriptedApp app({.bytes = bytes, .hold = hold});
  Probing probing;
  Probe probe = http_probe(app.port());
  probe.timeout = timeout;
  return probing.run(probe);
}

std::string request_of(const HttpGet& http, const probe::ProberOptions& options = {}) {
  ScriptedApp app({.bytes = http_answer(200)});
  Probing probing(options);
  const Probe probe = {.action = http, .port = app.port()};
  EXPECT_TRUE(probing.run(probe).healthy);
  const std::vector<std::string> requests = app.requests();
  EXPECT_EQ(requests.size(), 1);
  std::string request = requests.empty() ? "" : requests[0];
  const std::string port = std::to_string(app.port());
  if (const size_t at = request.find(port); at != std::string::npos) {
    request.replace(at, port.size(), "PORT");
  }
  return request;
}

TEST(HttpProber, SendsExactlyWhatTheKubeletSends) {
  EXPECT_EQ(request_of({.path = "/h?a=b"}),
            "GET /h?a=b HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nUser-Agent: kube-probe/1.0\r\n"
            "Accept: */*\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(request_of({.path = "/h", .headers = {{"Host", "example.com"}, {"x-custom", "1"}}}),
            "GET /h HTTP/1.1\r\nHost: example.com\r\nUser-Agent: kube-probe/1.0\r\nAccept: */*\r\n"
            "X-Custom: 1\r\nConnection: close\r\n\r\n");
}

TEST(HttpProber, EveryFinalStatusCountsAsTheKubeletCountsIt) {
  ScriptedApp app([](const std::string& request) {
    return ScriptedApp::Reply{.bytes = http_answer(std::stoi(request.substr(5)))};
  });
  Probing probing;
  for (int status = 200; status < 600; ++status) {
    const Outcome outcome = probing.run(http_probe(app.port(), fmt::format("/{}", status)));
    EXPECT_EQ(outcome.healthy, status < 400) << status;
    EXPECT_EQ(outcome.code, status);
    EXPECT_FALSE(outcome.error);
    EXPECT_THAT(outcome.reason, HasSubstr(fmt::format("HTTP {}", status)));
  }
  for (const int status : {101, 600, 999}) {
    const Outcome outcome = probing.run(http_probe(app.port(), fmt::format("/{}", status)));
    EXPECT_FALSE(outcome.healthy) << status;
    EXPECT_EQ(outcome.code, status);
    EXPECT_THAT(outcome.reason, StartsWith("HF7003"));
  }
}

TEST(HttpProber, OtherFormsOfAGoodAnswerAreGood) {
  EXPECT_TRUE(judged("HTTP/1.0 200 OK\r\n\r\nuntil the end").healthy);
  EXPECT_TRUE(judged("HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n").healthy) << "no words";
  EXPECT_TRUE(judged("HTTP/1.1 204 No Content\r\n\r\n", true).healthy) << "held open";
  EXPECT_TRUE(judged("HTTP/1.1 100 Continue\r\n\r\n" + http_answer(200, "x"), true).healthy);
  EXPECT_TRUE(judged("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                     "3;x=y\r\nabc\r\n0\r\nTrailer: t\r\n\r\n",
                     true)
                  .healthy);
}

TEST(HttpProber, NoAnswerAndGarbageAreFailures) {
  for (const char* bytes : {"", "garbage\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 200 OK\r\n",
                            "HTTP/1.1 199 Odd\r\n\r\n", "SSH-2.0-OpenSSH\r\n"}) {
    const Outcome outcome = judged(bytes);
    EXPECT_FALSE(outcome.healthy) << bytes;
    EXPECT_FALSE(outcome.error) << bytes;
    EXPECT_EQ(outcome.code, 0);
    EXPECT_THAT(outcome.reason, StartsWith("HF7004")) << bytes;
  }
}

TEST(HttpProber, ARefusedConnectionFailsAtOnce) {
  Probing probing;
  std::chrono::milliseconds took{};
  Probe probe = http_probe(free_ports(1)[0]);
  probe.timeout = 10s;

  const Outcome outcome = probing.timed(probe, took);

  EXPECT_FALSE(outcome.healthy);
  EXPECT_FALSE(outcome.error);
  EXPECT_THAT(outcome.reason, StartsWith("HF7001: Connection refused"));
  EXPECT_LT(took, 5s);
}

TEST(HttpProber, ABodyOfTenKibibytesIsEnoughAndALittleLessIsNot) {
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n";
  const auto body = [](size_t size) { return std::string(size, 'x'); };
  EXPECT_TRUE(judged(head + body(10241), true).healthy);
  EXPECT_TRUE(judged(head + body(10240), true).healthy);
  EXPECT_TRUE(judged(head + body(10240)).healthy) << "cut after enough";
  EXPECT_TRUE(judged(http_answer(200, body(10239)), true).healthy) << "whole";

  const Outcome hangs = judged(head + body(10239), true, 1s);
  EXPECT_FALSE(hangs.healthy);
  EXPECT_TRUE(hangs.error) << "the kubelet would ask again";
  EXPECT_EQ(hangs.code, 200);
  EXPECT_THAT(hangs.reason, StartsWith("HF7005"));
  const Outcome cut = judged(head + body(10239));
  EXPECT_FALSE(cut.healthy);
  EXPECT_TRUE(cut.error);
}

TEST(HttpProber, ACutBodyIsAnErrorWhateverTheStatus) {
  EXPECT_TRUE(judged("HTTP/1.1 500 No\r\nContent-Length: 5\r\n\r\nabc").error);
  EXPECT_TRUE(judged("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab").error);
  EXPECT_TRUE(judged("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n").error);
  EXPECT_TRUE(judged("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n").error);
}

TEST(HttpProber, WaitsForAnAnswerNoLongerThanItsTimeout) {
  ScriptedApp app(ScriptedApp::Reply{.hold = true});
  Probing probing;
  std::chrono::milliseconds took{};
  Probe probe = http_probe(app.port());
  probe.timeout = 1s;

  const Outcome outcome = probing.timed(probe, took);

  EXPECT_FALSE(outcome.healthy);
  EXPECT_FALSE(outcome.error);
  EXPECT_THAT(outcome.reason, StartsWith("HF7002"));
  EXPECT_GE(took, 950ms);
  EXPECT_LT(took, 8s);
  EXPECT_TRUE(eventually([&] { return app.resets() == 1; }, 5s)) << "and then it leaves";
}

TEST(HttpProber, ALongerTimeoutIsTheProbesOwn) {
  ScriptedApp app([](const std::string&) {
    let_pass(1500ms);
    return ScriptedApp::Reply{.bytes = http_answer(200)};
  });
  Probing probing;
  Probe hasty = http_probe(app.port());
  hasty.timeout = 1s;

  EXPECT_TRUE(probing.run(http_probe(app.port())).healthy);
  EXPECT_FALSE(probing.run(hasty).healthy);
}

TEST(HttpProber, RedirectsWithinTheHostAreFollowed) {
  ScriptedApp target({.bytes = http_answer(404)});
  ScriptedApp app([&](const std::string& request) {
    std::string to = "/end";
    if (request.starts_with("GET /end")) return ScriptedApp::Reply{.bytes = http_answer(200)};
    if (request.starts_with("GET /port")) to = fmt::format("http://127.0.0.1:{}/", target.port());
    if (request.starts_with("GET /name")) to = "http://localhost/end";
    if (request.starts_with("GET /ftp")) to = "ftp://127.0.0.1/end";
    if (request.starts_with("GET /loop")) to = "loop";
    return ScriptedApp::Reply{.bytes = http_answer(302, "moved", "Location: " + to + "\r\n"),
                              .hold = true};
  });
  Probing probing;

  EXPECT_EQ(probing.run(http_probe(app.port(), "/start")).code, 200);
  EXPECT_EQ(probing.run(http_probe(app.port(), "/port")).code, 404);
  const Outcome elsewhere = probing.run(http_probe(app.port(), "/name"));
  EXPECT_TRUE(elsewhere.healthy);
  EXPECT_EQ(elsewhere.code, 302);
  EXPECT_FALSE(probing.run(http_probe(app.port(), "/ftp")).healthy);
  const int before = app.connections();
  const Outcome loop = probing.run(http_probe(app.port(), "/loop"));
  EXPECT_FALSE(loop.healthy);
  EXPECT_THAT(loop.reason, HasSubstr("stopped after 10 redirects"));
  EXPECT_EQ(app.connections() - before, 10) << "each on a connection of its own";
}

TEST(HttpProber, OnARedirectTheHeadersStayAndTheHostOnlyIfItIsRelative) {
  ScriptedApp app([&](const std::string& request) {
    if (request.starts_with("GET /end")) return ScriptedApp::Reply{.bytes = http_answer(200)};
    const std::string port = request.substr(request.find("X-Port: ") + 8, 5);
    const bool relative = request.starts_with("GET /relative");
    const std::string to = relative ? "/end" : "http://127.0.0.1:" + port + "/end";
    return ScriptedApp::Reply{.bytes = http_answer(307, "", "location: " + to + "\r\n")};
  });
  Probing probing;
  for (const char* path : {"/relative", "/absolute"}) {
    Probe probe = http_probe(app.port(), path);
    std::get<HttpGet>(probe.action).headers = {{"Host", "example.com"},
                                               {"X-Port", fmt::format("{:05}", app.port())}};
    EXPECT_TRUE(probing.run(probe).healthy) << path;
  }

  const std::vector<std::string> requests = app.requests();
  ASSERT_EQ(requests.size(), 4);
  EXPECT_THAT(requests[1], HasSubstr("Host: example.com\r\n"));
  EXPECT_THAT(requests[1], HasSubstr("X-Port: "));
  EXPECT_THAT(requests[1],
              HasSubstr(fmt::format("Referer: http://127.0.0.1:{}/relative\r\n", app.port())));
  EXPECT_THAT(requests[3], HasSubstr(fmt::format("Host: 127.0.0.1:{}\r\n", app.port())));
}

TEST(HttpProber, TheTimeoutSpansAllRedirects) {
  ScriptedApp app([](const std::string&) {
    let_pass(400ms);
    return ScriptedApp::Reply{.bytes = http_answer(302, "", "Location: /again\r\n")};
  });
  Probing probing;
  std::chrono::milliseconds took{};
  Probe probe = http_probe(app.port());
  probe.timeout = 1s;
  const Outcome outcome = probing.timed(probe, took);

  EXPECT_THAT(outcome.reason, StartsWith("HF7002"));
  EXPECT_LT(took, 8s);
  EXPECT_LE(app.connections(), 3);
}

TEST(HttpProber, Ipv6StandsInBrackets) {
  ScriptedApp app(ScriptedApp::Reply{.bytes = http_answer(200)}, true);
  Probing probing({.address = "::1"});

  EXPECT_TRUE(probing.run(http_probe(app.port())).healthy);
  ASSERT_EQ(app.requests().size(), 1);
  EXPECT_THAT(app.requests()[0], HasSubstr(fmt::format("Host: [::1]:{}\r\n", app.port())));
}

TEST(HttpProber, AHostOfItsOwnIsAskedInsteadOfThePod) {
  ScriptedApp app(ScriptedApp::Reply{.bytes = http_answer(200)});
  Probing probing({.address = "127.0.0.9"});
  Probe probe = http_probe(app.port());

  EXPECT_FALSE(probing.run(probe).healthy) << "nobody listens on 127.0.0.9";
  probe.host = "127.0.0.1";
  EXPECT_TRUE(probing.run(probe).healthy);
  probe.host = "localhost";
  EXPECT_TRUE(probing.run(probe).healthy);
  EXPECT_THAT(app.requests().back(), HasSubstr(fmt::format("Host: localhost:{}\r\n", app.port())));
  probe.host = "no-such-name.invalid";
  EXPECT_THAT(probing.run(probe).reason, StartsWith("HF700"));
}

TEST(HttpProber, AHookPassesWithAnyAnswerAndFailsWithoutOne) {
  ScriptedApp app({.bytes = http_answer(500)});
  Probing probing;
  Probe hook = http_probe(app.port(), "/stop");
  hook.hook = true;

  EXPECT_TRUE(probing.run(hook).healthy);
  EXPECT_EQ(probing.run(hook).code, 500);
  EXPECT_THAT(app.requests()[0], HasSubstr("User-Agent: kube-lifecycle/1.0\r\n"));
  hook.port = free_ports(1)[0];
  EXPECT_FALSE(probing.run(hook).healthy);
}

TEST(HttpProber, AHookUnderTlsThatIsAnsweredInClearIsCalledInClear) {
  // What is not HTTP begins a handshake, whose end it never sends.
  ScriptedApp app([](const std::string& request) {
    return ScriptedApp::Reply{.bytes = http_answer(request.starts_with("GET ") ? 200 : 400)};
  });
  app.answer_after(1);
  Probing probing;
  Probe hook = http_probe(app.port(), "/stop");
  hook.hook = true;
  auto& http = std::get<HttpGet>(hook.action);
  http.tls = true;
  http.headers = {{"Authorization", "secret"}, {"X-Own", "1"}};

  const Outcome outcome = probing.run(hook);

  EXPECT_TRUE(outcome.healthy) << outcome.reason;
  EXPECT_EQ(outcome.code, 200);
  EXPECT_THAT(app.requests().back(), HasSubstr("X-Own: 1"));
  EXPECT_THAT(app.requests().back(), Not(HasSubstr("secret")));
  hook.hook = false;
  EXPECT_FALSE(probing.run(hook).healthy) << "a probe is not";
}

TEST(HttpProber, AHookMayTakeLongerThanAProbe) {
  ScriptedApp app([](const std::string&) {
    let_pass(1300ms);
    return ScriptedApp::Reply{.bytes = http_answer(200)};
  });
  Probing probing;
  Probe hook = http_probe(app.port(), "/stop");
  hook.hook = true;

  EXPECT_TRUE(probing.run(hook).healthy);
}

}  // namespace
}  // namespace holdfast::test

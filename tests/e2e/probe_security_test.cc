// No way through the probe handler to a port, path, host or header that nobody registered: a table
// of what attackers send, with an application beside the registered one that must stay alone.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/probe_app.h"
#include "e2e/probe_process.h"
#include "support/eventually.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::Each;
using testing::StartsWith;

constexpr const char* kUnregistered[] = {"/OTHER/ok",
                                         "/tcp/OTHER",
                                         "/grpc/OTHER",
                                         "/grpc/PORT",
                                         "/hook/PORT/ok",
                                         "/hook/OTHER/ok",
                                         "/PORT/",
                                         "/PORT",
                                         "/PORT/other",
                                         "/PORT/ok/",
                                         "/PORT/ok?",
                                         "/PORT/ok?x=1",
                                         "/PORT/ok#x",
                                         "/PORT/OK",
                                         "/PORT/ok/../other",
                                         "/PORT/../OTHER/ok",
                                         "/PORT/./ok",
                                         "/PORT//ok",
                                         "//PORT/ok",
                                         "/PORT/%6fk",
                                         "/PORT/ok%00",
                                         "/PORT/ok%20",
                                         "/PORT%2Fok",
                                         "/%2e%2e/OTHER/ok",
                                         "/PORT/%2e%2e/%2e%2e/OTHER/ok",
                                         "/PORT/..%2f..%2fOTHER/ok",
                                         "/PORT/%5c..%5cok",
                                         "/PORT\\ok",
                                         "\\PORT\\ok",
                                         "/tcp/PORT/",
                                         "/tcp/PORT/x",
                                         "/tcp/PORT?",
                                         "/tcp/0PORT",
                                         "/tcp/+PORT",
                                         "/tcp/%PORT",
                                         "/tcp/0",
                                         "/tcp/65536",
                                         "/tcp/99999999999999999999",
                                         "/tcp/-1",
                                         "/tcp/abc",
                                         "/tcp/",
                                         "/tcp",
                                         "/0/ok",
                                         "/65536/ok",
                                         "/abc/ok",
                                         "/-1/ok",
                                         "/0PORT/ok",
                                         "/PORT~1/ok",
                                         "/PORT~2/ok",
                                         "/PORT@OTHER/ok",
                                         "/@OTHER/ok",
                                         "/PORT:OTHER/ok",
                                         "http://127.0.0.1:OTHER/ok",
                                         "http://127.0.0.1:PORT/PORT/ok",
                                         "http://a/PORT/ok",
                                         "https://a/PORT/ok",
                                         "HTTP://a/PORT/ok",
                                         "//127.0.0.1:OTHER/ok",
                                         "127.0.0.1:OTHER",
                                         "*",
                                         "/metrics",
                                         "/readyz",
                                         "/healthz/",
                                         "/healthz?",
                                         "/Healthz",
                                         "/",
                                         "/.",
                                         "/..",
                                         "/app-health/x/readyz",
                                         "/PORT/\xc3\xa9",
                                         "/PORT/ok\xff",
                                         "file:///etc/passwd",
                                         "gopher://127.0.0.1:OTHER/_x",
                                         "/http://127.0.0.1:OTHER/ok"};

class ProbeSecurity : public testing::Test {
 protected:
  // PORT and OTHER in a text are the ports of the registered application and of the other one.
  std::string filled(std::string text) const {
    for (const auto& [word, port] : {std::pair{std::string("PORT"), app_.port()},
                                     std::pair{std::string("OTHER"), other_.port()}}) {
      for (size_t at = text.find(word); at != std::string::npos; at = text.find(word)) {
        text.replace(at, word.size(), fmt::format("{}", port));
      }
    }
    return text;
  }
  Reply send(const std::string& bytes) const {
    HttpClient client(handler_.address());
    client.send(filled(bytes));
    return client.read_reply();
  }
  Reply get(const std::string& target, const std::string& more = "") const {
    return send(fmt::format("GET {} HTTP/1.1\r\nHost: a\r\n{}\r\n", target, more));
  }

  ProbeApp app_;
  ProbeApp other_;
  ProbeHandler handler_{
      fmt::format(R"([{{"httpGet":{{"path":"/ok","port":{0}}}}},{{"tcpSocket":{{"port":{0}}}}}])",
                  app_.port())};
};

TEST_F(ProbeSecurity, TargetsThatAreNotRegisteredAreNotFound) {
  for (const std::string target : kUnregistered) {
    EXPECT_EQ(get(target).status, 404) << target;
  }
  EXPECT_EQ(other_.accepted(), 0u);
  EXPECT_EQ(app_.accepted(), 0u);
}

TEST_F(ProbeSecurity, OtherMethodsAreRefused) {
  for (const std::string method :
       {"HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND", "get", "GETX"}) {
    HttpClient client(handler_.address());
    client.send(filled(fmt::format("{} /PORT/ok HTTP/1.1\r\nHost: a\r\n\r\n", method)));
    const std::string head = client.read_until("\r\n\r\n");
    EXPECT_THAT(head, StartsWith("HTTP/1.1 405 ")) << method;
    EXPECT_TRUE(head.contains("\r\nAllow: GET\r\n")) << method;
  }
  const Reply with_body = send("POST /PORT/ok HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
  EXPECT_EQ(with_body.status, 405);
  EXPECT_EQ(send("CONNECT 127.0.0.1:OTHER HTTP/1.1\r\nHost: a\r\n\r\n").status, 404);
  EXPECT_EQ(other_.accepted(), 0u);
  EXPECT_EQ(app_.accepted(), 0u);
}

TEST_F(ProbeSecurity, WhatIsNotHttpIsRefusedAndTheConnectionEnds) {
  const std::pair<const char*, int> rows[] = {
      {"GET\r\n\r\n", 400},
      {"GET /PORT/ok\r\n\r\n", 400},
      {" GET /PORT/ok HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET  /PORT/ok HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET /PORT/ok HTTP/1.1\nHost: a\n\n", 400},
      {"GET /PORT/ok HTTP/1.1\r\nHost : a\r\n\r\n", 400},
      {"GET /PORT/ok HTTP/1.1\r\nHo st: a\r\n\r\n", 400},
      {"GET /PORT/ok HTTP/1.1\r\n: a\r\nHost: a\r\n\r\n", 400},
      {"GET /PORT/ok HTTP/1.1\r\n\r\n", 400},                        // no Host
      {"GET /PORT/ok HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},  // two
      {"GET /PORT/ok HTTP/1.1\r\nHost: a\r\nX: \x01\r\n\r\n", 400},  // a control character
      {"GET /PORT/\x01 HTTP/1.1\r\nHost: a\r\n\r\n", 400},           // another
      {"GET /PORT/o k HTTP/1.1\r\nHost: a\r\n\r\n", 400},            // a blank
      {"GET /PORT/ok HTTP/2.0\r\nHost: a\r\n\r\n", 505},             // a version
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},                     // HTTP/2
      {"\x16\x03\x01\x02 \x01\xfc\x03\x03\r\n\r\n", 400},            // TLS
  };
  for (const auto& [bytes, status] : rows) EXPECT_EQ(send(bytes).status, status) << bytes;
  EXPECT_EQ(app_.accepted(), 0u);
}

TEST_F(ProbeSecurity, LengthsThatContradictEachOtherAreRefused) {
  const std::string inner = "GET /tcp/OTHER HTTP/1.1\r\nHost: a\r\n\r\n";
  for (const std::string fields :
       {"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
        "Content-Length: 4\r\nContent-Length: 5\r\n", "Content-Length: -1\r\n",
        "Content-Length: 4,5\r\n", "Content-Length: 0x4\r\n", "Content-Length: +4\r\n",
        "Content-Length: 99999999999999999999999\r\n", "Content-Length: \r\n"}) {
    const Reply reply =
        send(fmt::format("GET /PORT/ok HTTP/1.1\r\nHost: a\r\n{}\r\n{}", fields, inner));
    EXPECT_EQ(reply.status, 400) << fields;
  }
  EXPECT_EQ(app_.accepted(), 0u);
}

TEST_F(ProbeSecurity, ARequestHiddenInABodyIsNotARequest) {
  const std::string inner = filled("GET /PORT/ok HTTP/1.1\r\nHost: a\r\n\r\n");

  HttpClient client(handler_.address());
  client.send(filled(fmt::format("GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{}",
                                 inner.size(), inner)));
  EXPECT_EQ(client.read_reply().status, 200);
  EXPECT_EQ(client.ask("GET /none").status, 404) << "the next answer is to the next request";
  EXPECT_EQ(app_.accepted(), 0u);
}

TEST_F(ProbeSecurity, RequestsInARowAreEachLookedAt) {
  HttpClient client(handler_.address());
  client.send(
      filled("GET /PORT/ok HTTP/1.1\r\nHost: a\r\n\r\n"
             "GET /tcp/OTHER HTTP/1.1\r\nHost: a\r\n\r\n"
             "GET /PORT/ok HTTP/1.1\r\nHost: a\r\n\r\n"));

  EXPECT_EQ(client.read_reply().status, 200);
  EXPECT_EQ(client.read_reply().status, 404);
  EXPECT_EQ(client.read_reply().status, 200);
  EXPECT_EQ(other_.accepted(), 0u);
}

TEST_F(ProbeSecurity, HeadersDecideNothing) {
  for (const std::string fields :
       {"X-Kuma-Probes-Host: evil\r\n", "X-Kuma-Probes-Scheme: HTTPS\r\n",
        "X-Kuma-Probes-Timeout: 3600\r\n", "X-Kuma-Probes-GRPC-Service: x\r\n",
        "Holdfast-Probe-Host: evil\r\n", "Holdfast-Probe-Port: OTHER\r\n",
        "Holdfast-Probe-Timeout: 3600\r\n", "X-Forwarded-Host: evil\r\n",
        "X-Original-URL: /tcp/OTHER\r\n", "X-Rewrite-URL: /tcp/OTHER\r\n",
        "X-HTTP-Method-Override: POST\r\n", "Upgrade: h2c\r\nConnection: Upgrade\r\n",
        "Expect: 100-continue\r\n", "Range: bytes=0-\r\n", "Forwarded: host=evil\r\n"}) {
    EXPECT_EQ(get("/PORT/ok", fields).status, 200) << fields;
  }
  const std::string wanted = filled(
      "GET /ok HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nUser-Agent: kube-probe/1.0\r\n"
      "Accept: */*\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(app_.heads(), Each(wanted));
  EXPECT_EQ(other_.accepted(), 0u);
}

TEST_F(ProbeSecurity, WhatIsTooLargeIsRefused) {
  EXPECT_EQ(get("/" + std::string(20'000, 'a')).status, 431);
  EXPECT_EQ(get("/PORT/ok", "X: " + std::string(20'000, 'a') + "\r\n").status, 431);
  EXPECT_EQ(send("GET /PORT/ok HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n").status,
            413);
  std::string many;
  for (int i = 0; i < 2'000; ++i) many += fmt::format("X-{}: 1\r\n", i);
  EXPECT_EQ(get("/PORT/ok", many).status, 431);
  EXPECT_EQ(app_.accepted(), 0u);
  EXPECT_EQ(get("/PORT/ok").status, 200);
}

}  // namespace
}  // namespace holdfast::test

#include "probe/http_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::probe {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string http_request_request(HttpGet http, std::string_view address = "10.0.0.7") {
  const Probe probe = {.action = std::move(http), .port = 8080};
  const auto& own = std::get<HttpGet>(probe.action);
  return http1_request(own, first_hop(probe, own, address), "kube-probe/1.37");
}

TEST(HttpRequest, ThePlainRequest) {
  EXPECT_EQ(http_request_request({.path = "healthz"}),
            "GET /healthz HTTP/1.1\r\nHost: 10.0.0.7:8080\r\nUser-Agent: kube-probe/1.37\r\n"
            "Accept: */*\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(http_request_request({}, "fd00::7"), HasSubstr("\r\nHost: [fd00::7]:8080\r\n"));
}

TEST(HttpRequest, NoEncodingIsAccepted) {
  EXPECT_THAT(http_request_request({}), Not(HasSubstr("Accept-Encoding")));
}

TEST(HttpRequest, TheProbesOwnAgentAndAcceptWinAndEmptyOnesRemoveThem) {
  EXPECT_THAT(http_request_request({.headers = {{"user-agent", "mine"}, {"accept", "text/plain"}}}),
              HasSubstr("User-Agent: mine\r\nAccept: text/plain\r\n"));
  const std::string without =
      http_request_request({.headers = {{"User-Agent", ""}, {"Accept", ""}}});
  EXPECT_THAT(without, Not(HasSubstr("User-Agent")));
  EXPECT_THAT(without, Not(HasSubstr("Accept")));
}

TEST(HttpRequest, HostIsSetInAnyCaseAndOnlyOnce) {
  for (const char* name : {"Host", "host", "HOST"}) {
    const std::string text =
        http_request_request({.headers = {{name, "example.com"}, {"Host", "second"}}});
    EXPECT_THAT(text, HasSubstr("HTTP/1.1\r\nHost: example.com\r\nUser-Agent"));
    EXPECT_THAT(text, Not(HasSubstr("second")));
  }
  EXPECT_THAT(http_request_request({.headers = {{"Host", ""}}}),
              HasSubstr("Host: 10.0.0.7:8080\r\n"));
}

TEST(HttpRequest, OtherHeadersKeepTheirOrderAndRepeat) {
  EXPECT_THAT(http_request_request({.headers = {{"x-b", "1"}, {"X-A", "2"}, {"x-b", "3"}}}),
              HasSubstr("Accept: */*\r\nX-B: 1\r\nX-A: 2\r\nX-B: 3\r\nConnection: close\r\n"));
}

// What Go's transport does without keep-alive, and so the kubelet.
TEST(HttpRequest, AConnectionOfTheProbesOwnIsSentAndOursOnlyIfItSaysLess) {
  const auto lines = [](std::vector<Header> headers) {
    const std::string text = http_request_request({.headers = std::move(headers)});
    return text.substr(text.find("*/*\r\n") + 5);
  };

  EXPECT_EQ(lines({{"connection", "close"}}), "Connection: close\r\n\r\n");
  EXPECT_EQ(lines({{"Connection", "x, Close"}}), "Connection: x, Close\r\n\r\n");
  EXPECT_EQ(lines({{"Connection", "keep-alive"}}),
            "Connection: keep-alive\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(lines({{"Connection", "closed"}}), "Connection: closed\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(lines({{"Connection", "x"}, {"Connection", "close"}}),
            "Connection: x\r\nConnection: close\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(lines({{"Connection", "Upgrade"}, {"Upgrade", "websocket"}}),
            "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  EXPECT_EQ(lines({{"Connection", "Upgrade"}}), "Connection: Upgrade\r\nConnection: close\r\n\r\n");
}

TEST(HttpRequest, WhatFramesTheMessageIsNotTheProbesToSay) {
  const std::string text = http_request_request(
      {.headers = {{"Content-Length", "5"}, {"transfer-encoding", "chunked"}, {"Trailer", "x"}}});
  EXPECT_EQ(text, http_request_request({}));
}

TEST(HttpRequest, InHttp2NamesAreSmallAndConnectionsAreNotSpokenOf) {
  const Probe probe = {.action = HttpGet{.path = "/h?x",
                                         .tls = true,
                                         .headers = {{"Host", "example.com"},
                                                     {"X-Own", "V"},
                                                     {"Connection", "x"},
                                                     {"Upgrade", "y"},
                                                     {"TE", "z"},
                                                     {"Keep-Alive", "1"}}},
                       .port = 8443};
  const auto& http = std::get<HttpGet>(probe.action);
  const H2Request made = http2_request(http, first_hop(probe, http, "::1"), "agent");

  EXPECT_EQ(made.headers, (std::vector<Header>{{":authority", "example.com"},
                                               {":method", "GET"},
                                               {":path", "/h?x"},
                                               {":scheme", "https"},
                                               {"user-agent", "agent"},
                                               {"accept", "*/*"},
                                               {"x-own", "V"}}));
  EXPECT_EQ(made.body, "");
}

}  // namespace
}  // namespace holdfast::probe

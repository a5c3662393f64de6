#include "probe/probe_path.h"

#include <gtest/gtest.h>

namespace holdfast::probe {
namespace {

Probe http(std::string path, bool hook = false) {
  return {.action = HttpGet{.path = std::move(path)}, .port = 8080, .hook = hook};
}

TEST(ProbePath, WhatMayStandInAUrlIsSentByteForByte) {
  for (const char* path : {"/", "/healthz", "/a%2Fb//c", "/a/../b", "/x?", "/x?a=b&c=%20", "/%41",
                           "/a;b=1/(c)!*'", "///triple", "/[v6]"}) {
    EXPECT_EQ(request_target(path), path);
  }
}

TEST(ProbePath, APathWithoutASlashGetsOne) {
  EXPECT_EQ(request_target("healthz"), "/healthz");
  EXPECT_EQ(request_target(""), "/");
  EXPECT_EQ(request_target("?a=b"), "/?a=b");
}

TEST(ProbePath, WhatMayNotStandInAUrlIsEncodedAsTheKubeletDoes) {
  EXPECT_EQ(request_target("/a b"), "/a%20b");
  EXPECT_EQ(request_target("/\xc3\xa4?q=\xc3\xa4 b"), "/%C3%A4?q=%C3%A4%20b");
  EXPECT_EQ(request_target("/x#part"), "/x");
  EXPECT_EQ(request_target("/a%2Fb c"), "/a/b%20c") << "it is read and written anew";
  EXPECT_EQ(request_target("/100%?a"), "/100%25%3Fa") << "not a URL at all";
  EXPECT_EQ(request_target("/a\r\nHost: b"), "/a%0D%0AHost:%20b");
}

TEST(ProbePath, EachKindHasItsPath) {
  EXPECT_EQ(handler_path(http("/healthz"), 1), "/8080/healthz");
  EXPECT_EQ(handler_path(http("healthz?full=1"), 1), "/8080/healthz?full=1");
  EXPECT_EQ(handler_path(http("/healthz"), 2), "/8080~2/healthz");
  EXPECT_EQ(handler_path(http("/stop", true), 1), "/hook/8080/stop");
  EXPECT_EQ(handler_path({.action = TcpSocket{}, .port = 6853}, 1), "/tcp/6853");
  EXPECT_EQ(handler_path({.action = TcpSocket{}, .port = 6853}, 3), "/tcp/6853~3");
  EXPECT_EQ(handler_path({.action = Grpc{.service = "liveness"}, .port = 6852}, 1),
            "/grpc/6852/liveness");
  EXPECT_EQ(handler_path({.action = Grpc{}, .port = 6852}, 1), "/grpc/6852");
}

TEST(ProbePath, AServiceMayHoldAnything) {
  EXPECT_EQ(handler_path({.action = Grpc{.service = "/startup"}, .port = 1}, 1),
            "/grpc/1/%2Fstartup");
  EXPECT_EQ(handler_path({.action = Grpc{.service = "a b?\xc3\xa4~"}, .port = 1}, 1),
            "/grpc/1/a%20b%3F%C3%A4~");
}

}  // namespace
}  // namespace holdfast::probe

#include "ingress/connect_request.h"

#include <gtest/gtest.h>

namespace holdfast::ingress {
namespace {

using ConnectRequestState = ConnectRequest::State;

constexpr std::string_view kWeb =
    "CONNECT web:80 HTTP/1.1\r\nHost: web:80\r\nUser-Agent: x\r\n\r\n";

TEST(ConnectRequest, SaysTheServiceAndThePort) {
  const ConnectRequest read = read_connect_request(std::string(kWeb) + "first bytes");

  EXPECT_EQ(read.state, ConnectRequestState::Connect);
  EXPECT_EQ(read.host, "web");
  EXPECT_EQ(read.port, "80");
  EXPECT_EQ(read.head_bytes, kWeb.size());
}

TEST(ConnectRequest, TakesAPortByNameAndZeroForTheFirst) {
  EXPECT_EQ(read_connect_request("CONNECT api:metrics HTTP/1.1\r\nHost: x\r\n\r\n").port,
            "metrics");
  const ConnectRequest first = read_connect_request("CONNECT api:0 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(first.state, ConnectRequestState::Connect);
  EXPECT_EQ(first.port, "");
}

TEST(ConnectRequest, AsksForMoreAtEveryByteBeforeItsEnd) {
  for (size_t size = 0; size < kWeb.size(); ++size) {
    EXPECT_EQ(read_connect_request(kWeb.substr(0, size)).state, ConnectRequestState::NeedMore)
        << size;
  }
}

TEST(ConnectRequest, OtherMethodsAreNotItsAffair) {
  EXPECT_EQ(read_connect_request("G").state, ConnectRequestState::Other);
  EXPECT_EQ(read_connect_request("connect web:80 HTTP/1.1").state, ConnectRequestState::Other);
  EXPECT_EQ(read_connect_request("CONNECTX").state, ConnectRequestState::Other);
}

TEST(ConnectRequest, IsStrict) {
  const std::string_view heads[] = {
      "CONNECT web HTTP/1.1\r\nHost: x",
      "CONNECT web: HTTP/1.1\r\nHost: x",
      "CONNECT :80 HTTP/1.1\r\nHost: x",
      "CONNECT web:80 HTTP/1.0\r\nHost: x",
      "CONNECT web:80\r\nHost: x",
      "CONNECT  web:80 HTTP/1.1\r\nHost: x",
      "CONNECT web:80  HTTP/1.1\r\nHost: x",
      "CONNECT https://web:80 HTTP/1.1\r\nHost: x",
      "CONNECT user@web:80 HTTP/1.1\r\nHost: x",
      "CONNECT web/../db:80 HTTP/1.1\r\nHost: x",
      "CONNECT [::1]:80 HTTP/1.1\r\nHost: x",
      "CONNECT web:80 HTTP/1.1",
      "CONNECT web:80 HTTP/1.1\r\nHost: x\r\nHost: y",
      "CONNECT web:80 HTTP/1.1\r\nHost: x\r\nno colon",
      "CONNECT web:80 HTTP/1.1\r\nHost: x\r\n folded: value",
      "CONNECT web:80 HTTP/1.1\r\nHost: x\r\nName : value",
      "CONNECT web:80 HTTP/1.1\r\nHost: x\nX: y",
      "CONNECT web:80 HTTP/1.1\r\nHost: x\r\nContent-Length: 5",
      "CONNECT web:80 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked",
  };
  for (const std::string_view head : heads) {
    const ConnectRequest read = read_connect_request(std::string(head) + "\r\n\r\n");
    EXPECT_EQ(read.state, ConnectRequestState::Bad) << head;
    EXPECT_FALSE(read.problem.empty()) << head;
  }
}

TEST(ConnectRequest, AHeadBeyondItsLimitIsRefused) {
  std::string head = "CONNECT web:80 HTTP/1.1\r\nHost: x\r\nX: ";
  head.append(kMaxHeadBytes - head.size() - 1, 'a');
  EXPECT_EQ(read_connect_request(head).state, ConnectRequestState::NeedMore);
  EXPECT_EQ(read_connect_request(head + "a").state, ConnectRequestState::TooLong);
  EXPECT_EQ(read_connect_request(head + "aa\r\n\r\n").state, ConnectRequestState::TooLong);
}

TEST(ConnectRequest, MoreHeadersThanAnyoneNeedsAreRefused) {
  std::string head = "CONNECT web:80 HTTP/1.1\r\nHost: x\r\n";
  for (int i = 0; i < 200; ++i) head += "a:\r\n";
  EXPECT_EQ(read_connect_request(head + "\r\n").state, ConnectRequestState::Bad);
}

TEST(ServiceOfHost, LeavesTheClustersNameOut) {
  EXPECT_EQ(service_of_host("web", "prod"), "web");
  EXPECT_EQ(service_of_host("web.prod", "prod"), "web");
  EXPECT_EQ(service_of_host("web.test", "prod"), "web.test");
  EXPECT_EQ(service_of_host(".prod", "prod"), ".prod");
  EXPECT_EQ(service_of_host("prod", "prod"), "prod");
  EXPECT_EQ(service_of_host("web.", ""), "web.");
}

}  // namespace
}  // namespace holdfast::ingress

// HTTP/2 frame by frame, written by hand.
#include "probe/h2_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::probe {
namespace {

using namespace std::string_literals;
using testing::HasSubstr;
using testing::StartsWith;

constexpr char kData = 0;
constexpr char kHeaders = 1;
constexpr char kReset = 3;
constexpr char kSettings = 4;
constexpr char kGoAway = 7;
constexpr char kEndStream = 1;
constexpr char kEndHeaders = 4;

std::string frame(char type, char flags, int stream, const std::string& payload) {
  std::string out;
  for (const int shift : {16, 8, 0}) out += static_cast<char>(payload.size() >> shift & 0xff);
  out += type;
  out += flags;
  out += "\0\0\0"s + static_cast<char>(stream);
  return out + payload;
}

// A header that is in no table.
std::string field(const std::string& name, const std::string& value) {
  return "\0"s + static_cast<char>(name.size()) + name + static_cast<char>(value.size()) + value;
}

std::string head(int status, const std::string& more = "", char flags = 0) {
  return frame(kHeaders, static_cast<char>(kEndHeaders | flags), 1,
               field(":status", std::to_string(status)) + more);
}

const std::string kHello = frame(kSettings, 0, 0, "");

H2Request request(std::string body = "") {
  return {.headers = {{":method", "GET"}, {":scheme", "http"}, {":path", "/"}, {":authority", "a"}},
          .body = std::move(body)};
}

TEST(H2Exchange, AsksAtOnceWithoutWaitingForThePeer) {
  H2Exchange exchange(request("hello"));
  const std::string sent = exchange.output();

  EXPECT_THAT(sent, StartsWith("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
  EXPECT_THAT(sent, HasSubstr(frame(kData, kEndStream, 1, "hello")));
  EXPECT_EQ(exchange.output(), "") << "once";
  EXPECT_FALSE(exchange.peer_ready());
}

TEST(H2Exchange, AnAnswerComesInPieces) {
  H2Exchange exchange(request());
  exchange.output();
  const std::string bytes = kHello + head(302, field("location", "/x")) +
                            frame(kData, 0, 1, "abc") + frame(kData, kEndStream, 1, "");
  for (const char c : bytes) {
    EXPECT_FALSE(exchange.answer().ended);
    ASSERT_TRUE(exchange.put({&c, 1}).ok());
  }

  EXPECT_TRUE(exchange.peer_ready());
  EXPECT_EQ(exchange.answer().status, 302);
  EXPECT_EQ(exchange.answer().location, "/x");
  EXPECT_EQ(exchange.answer().body, "abc");
  EXPECT_TRUE(exchange.answer().ended);
}

TEST(H2Exchange, TrailersBringTheStatusOfGrpc) {
  H2Exchange exchange(request("x"));
  exchange.output();
  ASSERT_TRUE(exchange
                  .put(kHello + head(200, field("content-type", "application/grpc")) +
                       frame(kData, 0, 1, "m") +
                       frame(kHeaders, kEndHeaders | kEndStream, 1, field("grpc-status", "0")))
                  .ok());

  EXPECT_EQ(exchange.answer().grpc_status, "0");
  EXPECT_EQ(exchange.answer().content_type, "application/grpc");
  EXPECT_TRUE(exchange.answer().ended);
}

TEST(H2Exchange, WhatOnlyAnnouncesIsPassedOver) {
  H2Exchange exchange(request());
  exchange.output();
  ASSERT_TRUE(exchange.put(kHello + head(103, field("location", "/early"))).ok());
  EXPECT_EQ(exchange.answer().status, 0);
  ASSERT_TRUE(exchange.put(head(200, "", kEndStream)).ok());
  EXPECT_EQ(exchange.answer().status, 200);
  EXPECT_EQ(exchange.answer().location, "");
  EXPECT_TRUE(exchange.answer().ended);

  H2Exchange endless(request());
  endless.output();
  ASSERT_TRUE(endless.put(kHello).ok());
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(endless.put(head(100)).ok());
  EXPECT_FALSE(endless.put(head(100)).ok());
}

TEST(H2Exchange, WhoGivesUpOrEndsEarlyIsNotWhole) {
  H2Exchange reset(request());
  reset.output();
  EXPECT_TRUE(
      absl::IsUnavailable(reset.put(kHello + head(200) + frame(kReset, 0, 1, "\0\0\0\x08"s))));
  EXPECT_EQ(reset.answer().status, 200);
  EXPECT_FALSE(reset.answer().ended);

  H2Exchange goes(request());
  goes.output();
  EXPECT_TRUE(absl::IsUnavailable(goes.put(kHello + frame(kGoAway, 0, 0, "\0\0\0\0\0\0\0\0"s))));

  H2Exchange shorter(request());
  shorter.output();
  EXPECT_FALSE(shorter
                   .put(kHello + head(200, field("content-length", "5")) +
                        frame(kData, kEndStream, 1, "abc"))
                   .ok());
  EXPECT_FALSE(shorter.answer().ended);
}

TEST(H2Exchange, WhoSpeaksSomethingElseIsToldApart) {
  H2Exchange exchange(request());
  exchange.output();
  EXPECT_TRUE(absl::IsDataLoss(exchange.put("HTTP/1.1 400 Bad Request\r\n\r\n")));
  EXPECT_FALSE(exchange.peer_ready());
}

TEST(H2Exchange, OnlyTheBeginningOfABodyIsKept) {
  H2Exchange exchange(request());
  exchange.output();
  ASSERT_TRUE(exchange.put(kHello + head(200)).ok());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(exchange.put(frame(kData, 0, 1, std::string(4000, 'x'))).ok());
  }

  EXPECT_EQ(exchange.answer().body_bytes, 12000);
  EXPECT_EQ(exchange.answer().body.size(), kKeptBodyBytes);
}

}  // namespace
}  // namespace holdfast::probe

#include "net/http_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::net {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr std::string_view kPut =
    "PUT /v1/service/web HTTP/1.1\r\nHost: a\r\nIf-Match: 7\r\nCookie: secret\r\n"
    "Last-Event-ID: 9\r\nContent-Length: 4\r\n\r\nbody";

// The status it is refused with; 0 if it is not, -1 if it wants more.
int refused_with(std::string_view bytes, HttpLimits limits = {}) {
  HttpParser parser(limits);
  const auto taken = parser.put(bytes);
  if (!taken) return taken.error().status;
  return parser.done() ? 0 : -1;
}

TEST(HttpParser, ARequestIsTheSameHoweverItsBytesArrive) {
  for (size_t step = 1; step <= kPut.size(); ++step) {
    HttpParser parser({});
    std::string pending;
    for (size_t at = 0; at < kPut.size(); at += step) {
      pending += kPut.substr(at, step);
      const auto taken = parser.put(pending);
      ASSERT_TRUE(taken.has_value());
      pending.erase(0, *taken);
    }

    ASSERT_TRUE(parser.done());
    HttpRequest request;
    ASSERT_TRUE(parser.take(request).ok());
    EXPECT_EQ(request.method, "PUT");
    EXPECT_THAT(request.target.segments, ElementsAre("v1", "service", "web"));
    EXPECT_THAT(request.headers, ElementsAre(Pair("if-match", "7"), Pair("last-event-id", "9")));
    EXPECT_EQ(request.body, "body");
  }
}

TEST(HttpParser, AHeaderThatWasSentTwiceKeepsBothValues) {
  HttpParser parser({});
  ASSERT_TRUE(
      parser.put("PUT / HTTP/1.1\r\nHost: a\r\nIdempotency-Key:\r\nIf-Match: 7\r\n"
                 "idempotency-key: x\r\nContent-Length: 0\r\n\r\n"));
  HttpRequest request;

  ASSERT_TRUE(parser.take(request).ok());

  EXPECT_THAT(request.headers, ElementsAre(Pair("idempotency-key", ", x"), Pair("if-match", "7")));
}

TEST(HttpParser, TakesNothingOfTheNextRequest) {
  const std::string two = std::string(kPut) + "GET / HTTP/1.1\r\n";
  HttpParser parser({});

  const auto taken = parser.put(two);

  EXPECT_EQ(taken, kPut.size());
  EXPECT_TRUE(parser.done());
}

TEST(HttpParser, ChunksBecomeABody) {
  HttpParser parser({});
  const auto taken = parser.put(
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1;x=y\r\nd\r\n"
      "0\r\n\r\n");

  ASSERT_TRUE(taken.has_value());
  HttpRequest request;
  ASSERT_TRUE(parser.take(request).ok());
  EXPECT_EQ(request.body, "abcd");
}

TEST(HttpParser, RefusesWhatIsNotHttp) {
  EXPECT_EQ(refused_with("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"), 400);
  EXPECT_EQ(refused_with("GET /\r\n\r\n"), 400);
  EXPECT_EQ(refused_with("GET / HTTP/1.1\r\nno colon\r\n\r\n"), 400);
  EXPECT_EQ(refused_with("POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n"), 400);
}

TEST(HttpParser, AnotherVersionIsToldApartFromWhatIsNone) {
  for (const char* other : {"HTTP/2.0", "HTTP/1.2", "HTTP/0.9"}) {
    EXPECT_EQ(refused_with(std::string("GET / ") + other + "\r\n\r\n"), 505) << other;
  }
  EXPECT_EQ(refused_with("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 505);
  for (const char* none : {"HTTP/x.0", "HTTP/11", "http/1.1", "k HTTP/2.0", "HTTP/1.1 "}) {
    EXPECT_EQ(refused_with(std::string("GET / ") + none + "\r\n\r\n"), 400) << none;
  }
  EXPECT_EQ(refused_with("GET / HTTP/1.1\nHost: a\n\n"), 400);
  EXPECT_EQ(refused_with("GET / HTTP/1.0\r\n\r\n"), 0);
}

TEST(HttpParser, RefusesALengthThatIsSaidTwoWays) {
  EXPECT_EQ(refused_with("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n"
                         "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            400);
  EXPECT_EQ(refused_with("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n"
                         "Content-Length: 4\r\n\r\nabcd"),
            400);
}

TEST(HttpParser, RefusesAHeaderAboveItsLimitBeforeItEnds) {
  const std::string start = "GET / HTTP/1.1\r\nHost: a\r\nX: ";

  EXPECT_EQ(refused_with(start + std::string(100, 'a'), {.max_header_bytes = 200}), -1);
  EXPECT_EQ(refused_with(start + std::string(200, 'a'), {.max_header_bytes = 200}), 431);
}

TEST(HttpParser, RefusesABodyAboveItsLimitByWhatItSaysOrIs) {
  const HttpLimits limits{.max_header_bytes = 1'000, .max_body_bytes = 10};

  EXPECT_EQ(refused_with("POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\n0123456789", limits), 0);
  EXPECT_EQ(refused_with("POST / HTTP/1.1\r\nContent-Length: 11\r\n\r\n", limits), 413);
  EXPECT_EQ(refused_with("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
                         "6\r\n012345\r\n6\r\n",
                         limits),
            413);
}

TEST(HttpParser, AChunkLineHasAnEnd) {
  const std::string start = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;x=";

  EXPECT_EQ(refused_with(start + std::string(2'000, 'a'), {.max_header_bytes = 1'000}), 431);
}

TEST(HttpParser, ARequestNamesItsHostOnce) {
  for (const char* hosts : {"", "Host: a\r\nHost: b\r\n"}) {
    HttpParser parser({});
    ASSERT_TRUE(parser.put(std::string("GET / HTTP/1.1\r\n") + hosts + "\r\n").has_value());
    HttpRequest request;
    EXPECT_TRUE(absl::IsInvalidArgument(parser.take(request)));
  }
}

TEST(HttpAnswerParser, WhatComesBeforeTheAnswerIsPassedOver) {
  HttpAnswerParser parser({}, false);
  const std::string_view bytes =
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 204 x\r\n\r\n";

  const Result<size_t> taken = parser.put(bytes);

  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_EQ(*taken, bytes.size());
  ASSERT_TRUE(parser.done());
  EXPECT_EQ(parser.take().status, 204);
}

TEST(HttpAnswerParser, AStatusBelowAHundredIsNone) {
  for (const char* status : {"000", "001", "099"}) {
    for (const char* rest : {"\r\nContent-Length: 0\r\n\r\n", "\r\n\r\n"}) {
      HttpAnswerParser parser({}, false);
      const Result<size_t> taken = parser.put(fmt::format("HTTP/1.1 {} x{}", status, rest));
      EXPECT_TRUE(absl::IsDataLoss(taken.status())) << status << taken.status();
    }
  }
}

TEST(HttpHead, HasADateAndAReasonOrNoEmptyOnes) {
  EXPECT_EQ(http_date(WallTime(std::chrono::seconds(1'794'731'400))),
            "Sun, 15 Nov 2026 08:30:00 GMT");
  EXPECT_THAT(
      format_head(http_error(502, "HF2203", "no"), {}),
      AllOf(testing::StartsWith("HTTP/1.1 502 Bad Gateway\r\n"), testing::Not(HasSubstr("Date:"))));
}

TEST(HttpHead, SaysHowTheBodyEndsAndDropsWhatWouldSplitIt) {
  HttpResponse response = http_error(404, "HF6034", "no such path");
  response.headers = {{"Allow", "GET"}, {"X-Bad", "a\r\nSet-Cookie: b"}};

  const std::string head = format_head(response, {.close = true, .date = "today"});

  EXPECT_THAT(head, testing::StartsWith("HTTP/1.1 404 Not Found\r\nDate: today\r\n"));
  EXPECT_THAT(head, HasSubstr("Allow: GET\r\n"));
  EXPECT_THAT(head, HasSubstr(fmt::format("Content-Length: {}\r\n", response.body.size())));
  EXPECT_THAT(head, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(head, testing::Not(HasSubstr("Set-Cookie")));
}

}  // namespace
}  // namespace holdfast::net

// The HTTP client against our own server, and against servers that do odd things.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "asking.h"
#include "net/http_client.h"
#include "running_http_server.h"
#include "scripted_server.h"
#include "support/eventually.h"
#include "support/free_ports.h"
#include "support/temp_dir.h"
#include "support/test_certificate.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::string answer(std::string_view body) {
  return fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", body.size(), body);
}

TEST(HttpClient, RequestsShareOneConnection) {
  RunningHttpServer server;
  Asking asking({.addresses = {server.listen("127.0.0.1:0")}});

  for (int i = 0; i < 5; ++i) EXPECT_EQ(asking.text("/"), "hello GET");
  const Result<net::HttpAnswer> sized =
      asking.ask({.method = "PUT", .target = "/size", .body = std::string(300'000, 'x')});

  ASSERT_TRUE(sized.ok()) << sized.status();
  EXPECT_EQ(sized->body, "300000");
  EXPECT_EQ(sized->headers.at("content-type"), "text/plain");
  EXPECT_EQ(asking.stats().dialled, 1);
  EXPECT_EQ(server.connections(), 1);
}

TEST(HttpClient, TheAnswerToHeadHasNoBodyAndKeepsTheConnection) {
  RunningHttpServer server;
  Asking asking({.addresses = {server.listen("127.0.0.1:0")}});

  const Result<net::HttpAnswer> head = asking.ask({.method = "HEAD", .target = "/big"});

  ASSERT_TRUE(head.ok()) << head.status();
  EXPECT_EQ(head->body, "");
  EXPECT_EQ(head->headers.at("content-length"), std::to_string(16 << 20));
  EXPECT_EQ(asking.text("/"), "hello GET");
  EXPECT_EQ(asking.stats().dialled, 1);
}

TEST(HttpClient, AServerThatSaysCloseGetsNoFurtherRequestOnThatConnection) {
  RunningHttpServer server;
  Asking asking({.addresses = {server.listen("127.0.0.1:0")}});
  EXPECT_EQ(asking.text("/"), "hello GET");

  server.healthy = false;
  EXPECT_EQ(asking.text("/"), "hello GET");
  EXPECT_FALSE(asking.client().connected());
  EXPECT_EQ(asking.text("/"), "hello GET");
  server.healthy = true;
  EXPECT_EQ(asking.text("/"), "hello GET");
  EXPECT_EQ(asking.text("/"), "hello GET");

  EXPECT_EQ(asking.stats().goodbyes, 2);
  EXPECT_EQ(asking.stats().dialled, 3);
  EXPECT_EQ(asking.stats().repeated, 0);
}

TEST(HttpClient, AfterAGoodbyeTheNextAddressIsDialled) {
  RunningHttpServer unwell;
  RunningHttpServer well;
  const std::string second = well.listen("127.0.0.1:0");
  Asking asking({.addresses = {unwell.listen("127.0.0.1:0"), second}});
  unwell.healthy = false;

  for (int i = 0; i < 3; ++i) EXPECT_EQ(asking.text("/"), "hello GET");

  EXPECT_EQ(asking.client().address(), second);
  EXPECT_EQ(asking.stats().dialled, 2);
}

TEST(HttpClient, AddressesThatAreNotReachedArePassedOver) {
  RunningHttpServer server;
  const std::string dead = fmt::format("127.0.0.1:{}", free_ports(1).front());
  const std::string alive = server.listen("127.0.0.1:0");
  Asking asking({.addresses = {dead, "unix:/nowhere/at.sock", alive}});

  EXPECT_EQ(asking.text("/"), "hello GET");
  EXPECT_EQ(asking.client().address(), alive);
  EXPECT_EQ(asking.stats().failed_dials, 2);
}

TEST(HttpClient, ANameIsLookedUp) {
  RunningHttpServer server;
  const std::string bound = server.listen("127.0.0.1:0");
  Asking asking({.addresses = {"localhost" + bound.substr(bound.rfind(':'))}});

  EXPECT_EQ(asking.text("/"), "hello GET");
}

TEST(HttpClient, AUnixSocketIsDialledToo) {
  TempDir dir;
  RunningHttpServer server;
  Asking asking({.addresses = {server.listen("unix:" + dir.file("http.sock"))}});

  EXPECT_THAT(asking.text("/peer"), testing::StartsWith("unix true"));
}

TEST(HttpClient, WithNobodyThereItIsUnavailableAndSaysWhere) {
  const std::string dead = fmt::format("127.0.0.1:{}", free_ports(1).front());
  Asking asking({.addresses = {dead}});

  const Status status = asking.get("/").status();

  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(dead));
  EXPECT_THAT(std::string(status.message()), HasSubstr("refused"));
}

TEST(HttpClient, WhatIsNoAddressOrNoRequestIsRefusedUnsent) {
  ScriptedServer server({{answer("one")}});

  EXPECT_TRUE(absl::IsInvalidArgument(Asking({.addresses = {"no port"}}).get("/").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Asking({.addresses = {"a:b:1"}}).get("/").status()));
  Asking asking({.addresses = {server.address()}});
  for (const net::HttpCall& bad :
       {net::HttpCall{.target = "/ HTTP/1.1\r\nX: y"}, net::HttpCall{.method = "GE T"},
        net::HttpCall{.headers = {{"X", "a\r\nY: b"}}}, net::HttpCall{.headers = {{"X:", "a"}}}}) {
    EXPECT_TRUE(absl::IsInvalidArgument(asking.ask(bad).status()));
  }
  EXPECT_EQ(server.requests(), 0);
}

TEST(HttpClient, AConnectionThatDiedUnnoticedIsReplacedAndASafeRequestSentAgainOnce) {
  ScriptedServer server({{answer("one")}, {answer("two")}});
  Asking asking({.addresses = {server.address()}});
  EXPECT_EQ(asking.text("/"), "one");

  EXPECT_EQ(asking.text("/"), "two");

  EXPECT_EQ(asking.stats().repeated, 1);
  EXPECT_EQ(server.requests(), 3);
}

TEST(HttpClient, AnUnsafeRequestIsNeverSentAgain) {
  ScriptedServer server({{answer("one")}, {answer("two")}});
  Asking asking({.addresses = {server.address()}});
  EXPECT_EQ(asking.text("/"), "one");

  const Status status = asking.ask({.method = "POST"}).status();

  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("outcome unknown"));
  EXPECT_EQ(server.requests(), 2);
  EXPECT_EQ(asking.text("/"), "two");
}

TEST(HttpClient, AnIdempotencyKeyMakesARequestSafe) {
  ScriptedServer server({{answer("one")}, {answer("two")}});
  Asking asking({.addresses = {server.address()}});
  EXPECT_EQ(asking.text("/"), "one");

  const Result<net::HttpAnswer> posted =
      asking.ask({.method = "POST", .headers = {{"idempotency-key", "k1"}}});

  ASSERT_TRUE(posted.ok()) << posted.status();
  EXPECT_EQ(posted->body, "two");
}

TEST(HttpClient, AFreshConnectionThatDiesIsNotTriedAgain) {
  ScriptedServer server({{""}, {answer("late")}});
  Asking asking({.addresses = {server.address()}});

  EXPECT_TRUE(absl::IsUnavailable(asking.get("/").status()));
  EXPECT_EQ(server.requests(), 1);
}

TEST(HttpClient, HalfAnAnswerIsAnErrorAndNotSentAgain) {
  const std::string half = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf";
  ScriptedServer server({{answer("one"), half + '\f'}, {answer("two"), half}, {answer("three")}});
  Asking asking({.addresses = {server.address()}, .timeout = 2s});
  EXPECT_EQ(asking.text("/"), "one");

  const Status cut = asking.get("/").status();
  EXPECT_EQ(asking.text("/"), "two");
  const Status unended = asking.get("/").status();
  EXPECT_EQ(asking.text("/"), "three");

  EXPECT_TRUE(absl::IsDataLoss(cut)) << cut;
  EXPECT_TRUE(absl::IsDeadlineExceeded(unended)) << unended;
  EXPECT_EQ(server.requests(), 5);
  EXPECT_EQ(asking.stats().repeated, 0);
}

TEST(HttpClient, AConnectionTheServerHasClosedIsNotUsedEvenForAnUnsafeRequest) {
  RunningHttpServer server({.idle_timeout = 1s});
  Asking asking({.addresses = {server.listen("127.0.0.1:0")}});
  EXPECT_EQ(asking.text("/"), "hello GET");
  ASSERT_TRUE(eventually([&] { return server.connections() == 0; }, 10s));

  const Result<net::HttpAnswer> posted = asking.ask({.method = "POST"});

  ASSERT_TRUE(posted.ok()) << posted.status();
  EXPECT_EQ(posted->body, "hello POST");
  EXPECT_EQ(asking.stats().repeated, 0);
  EXPECT_EQ(asking.stats().dialled, 2);
}

TEST(HttpClient, InformationComesBeforeTheAnswerAndNonsenseAfterItEndsTheConnection) {
  ScriptedServer server({{"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n" +
                          answer("one") + "HTTP/1.1 200 OK\r\n"},
                         {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                          "3\r\ntwo\r\n0\r\n\r\n",
                          "\x16\x03 not http at all\r\n\r\n"},
                         {answer("three")}});
  Asking asking({.addresses = {server.address()}});

  EXPECT_EQ(asking.text("/"), "one");
  EXPECT_FALSE(asking.client().connected());
  EXPECT_EQ(asking.text("/"), "two");
  EXPECT_TRUE(absl::IsDataLoss(asking.get("/").status()));
  EXPECT_EQ(asking.text("/"), "three");
}

TEST(HttpClient, AnOldServersBodyEndsWithItsConnection) {
  const std::string old = "HTTP/1.0 200 OK\r\n";
  ScriptedServer server(
      {{old + "\r\nall there is\f"},
       {old + "Content-Length: 3\r\n\r\none"},
       {old + "Connection: keep-alive\r\nContent-Length: 3\r\n\r\ntwo", answer("three")}});
  Asking asking({.addresses = {server.address()}});

  EXPECT_EQ(asking.text("/"), "all there is");
  EXPECT_EQ(asking.text("/"), "one");
  EXPECT_FALSE(asking.client().connected());
  EXPECT_EQ(asking.text("/"), "two");
  EXPECT_EQ(asking.text("/"), "three");
  EXPECT_EQ(asking.stats().dialled, 3);
}

TEST(HttpClient, LimitsHoldForHeadersAndBodies) {
  ScriptedServer server({{"HTTP/1.1 200 OK\r\nX: " + std::string(4'000, 'x') + "\r\n\r\n"},
                         {answer(std::string(2'000, 'x'))},
                         {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n" +
                          std::string(2'000, 'x') + "\r\n0\r\n\r\n"},
                         {answer("small")}});
  Asking asking({.addresses = {server.address()},
                 .limits = {.max_header_bytes = 1'000, .max_body_bytes = 1'000}});

  for (int i = 0; i < 3; ++i) {
    const Status status = asking.get("/").status();
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  }
  EXPECT_EQ(asking.stats().too_large, 3);
  EXPECT_EQ(asking.text("/"), "small");
}

TEST(HttpClient, ASilentServerCostsTheDeadlineAndTheConnection) {
  RunningHttpServer server;
  Asking asking({.addresses = {server.listen("127.0.0.1:0")}, .timeout = 2s});

  const Status status = asking.get("/wait").status();

  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_EQ(server.waiting, 1);
  server.release_waiting();
  EXPECT_EQ(asking.text("/"), "hello GET");
  EXPECT_EQ(asking.stats().dialled, 2);
}

class HttpsClient : public testing::Test {
 protected:
  HttpsClient() {
    EXPECT_TRUE(server_.set_tls(own_.certificate_pem, own_.private_key_pem).ok());
    address_ = server_.listen("127.0.0.1:0", true);
  }
  static std::shared_ptr<const net::TlsContext> trusting(const net::TlsClientOptions& options) {
    auto context = net::TlsContext::make_client(options);
    EXPECT_TRUE(context.ok()) << context.status();
    return context.value_or(nullptr);
  }

  const TestCertificate own_ = make_test_certificate("controller");
  RunningHttpServer server_;
  std::string address_;
};

TEST_F(HttpsClient, AsksUnderTlsWithItsCertificateOnOneConnection) {
  const TestCertificate mine = make_test_certificate("node");
  Asking asking({.addresses = {address_},
                 .tls = trusting({.ca_pem = own_.certificate_pem,
                                  .certificate_pem = mine.certificate_pem,
                                  .private_key_pem = mine.private_key_pem})});

  EXPECT_THAT(asking.text("/peer"), HasSubstr(mine.certificate_pem));
  EXPECT_EQ(asking.text("/"), "hello GET");
  server_.healthy = false;
  EXPECT_EQ(asking.text("/"), "hello GET");
  EXPECT_EQ(asking.text("/"), "hello GET");

  EXPECT_EQ(asking.stats().dialled, 2);
}

TEST_F(HttpsClient, AServerThatIsNotTrustedOrHasAnotherNameIsNotAsked) {
  const TestCertificate other = make_test_certificate("controller");
  Asking distrusting({.addresses = {address_}, .tls = trusting({.ca_pem = other.certificate_pem})});
  Asking expecting(
      {.addresses = {address_},
       .tls = trusting({.ca_pem = own_.certificate_pem, .server_name = "elsewhere.example"})});
  Asking named({.addresses = {address_},
                .tls = trusting({.ca_pem = own_.certificate_pem, .server_name = "localhost"})});

  EXPECT_THAT(distrusting.text("/"), HasSubstr("certificate verify failed"));
  EXPECT_THAT(expecting.text("/"), HasSubstr("certificate verify failed"));
  EXPECT_EQ(named.text("/"), "hello GET");
  EXPECT_EQ(server_.counted("requests_total", {{"code", "200"}}), 1);
}

TEST_F(HttpsClient, AServerThatDoesNotShakeHandsIsGivenUpInTime) {
  ScriptedServer silent({{answer("x")}});
  Asking asking({.addresses = {silent.address(), address_},
                 .tls = trusting({.ca_pem = own_.certificate_pem}),
                 .connect_timeout = 2s});

  EXPECT_EQ(asking.text("/"), "hello GET");
}

TEST_F(HttpsClient, WhatIsNotPemMakesNoContext) {
  EXPECT_TRUE(absl::IsInvalidArgument(net::TlsContext::make_client({.ca_pem = "x"}).status()));
  const auto half = net::TlsContext::make_client({.certificate_pem = own_.certificate_pem});
  EXPECT_TRUE(absl::IsInvalidArgument(half.status()));
}

}  // namespace
}  // namespace holdfast::test

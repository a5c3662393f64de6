// The HTTP server under TLS: who presents what, garbage, and certificates that change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "running_http_server.h"
#include "support/eventually.h"
#include "support/http_client.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class HttpTls : public testing::Test {
 protected:
  std::string start(RunningHttpServer& server) {
    EXPECT_TRUE(server.set_tls(own_.certificate_pem, own_.private_key_pem).ok());
    return server.listen("127.0.0.1:0", true);
  }
  const TestCertificate own_ = make_test_certificate("first");
};

TEST_F(HttpTls, WhatAClientPresentsIsPassedOnAsItIs) {
  RunningHttpServer server;
  const std::string address = start(server);
  const TestCertificate foreign = make_test_certificate("somebody");
  HttpClient client(address);

  ASSERT_TRUE(client.start_tls(&foreign));
  const Reply reply = client.ask("GET /peer");

  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.body, testing::StartsWith("127.0.0.1:"));
  EXPECT_THAT(reply.body, HasSubstr(" false " + foreign.certificate_pem));
}

TEST_F(HttpTls, AClientWithoutACertificateIsServedAsNobody) {
  RunningHttpServer server;
  HttpClient client(start(server));

  ASSERT_TRUE(client.start_tls(nullptr));
  const Reply reply = client.ask("GET /peer");

  EXPECT_EQ(reply.status, 200);
  EXPECT_TRUE(reply.body.ends_with(" false ")) << reply.body;
  EXPECT_EQ(client.ask("GET /big").body.size(), size_t{16} << 20);
}

TEST_F(HttpTls, GarbageAndPlainHttpEndTheConnectionAlone) {
  RunningHttpServer server;
  const std::string address = start(server);
  HttpClient good(address);
  ASSERT_TRUE(good.start_tls(nullptr));

  for (const char* bytes : {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "\x16\x03\x01\xff\xff garbage",
                            "\x16\x03\x01\x00\x02\x01\x00", "\x80\x80\x80\x80\x80\x80\x80\x80"}) {
    HttpClient bad(address);
    bad.send(bytes);
    ::shutdown(bad.socket(), SHUT_WR);
    EXPECT_TRUE(bad.is_closed());
  }

  EXPECT_EQ(good.ask("GET /").status, 200);
  EXPECT_TRUE(eventually(
      [&] {
        return server.counted("cut_connections_total", {{"reason", "handshake_failed"}}) == 4;
      },
      10s));
}

TEST_F(HttpTls, AHandshakeThatDoesNotGoOnIsCut) {
  RunningHttpServer server({.handshake_timeout = 200ms});
  HttpClient silent(start(server));

  EXPECT_TRUE(silent.is_closed());
  EXPECT_EQ(server.counted("cut_connections_total", {{"reason", "handshake_timeout"}}), 1);
}

TEST_F(HttpTls, HandshakesUnderWayHaveALimit) {
  RunningHttpServer server({.max_handshakes = 1});
  const std::string address = start(server);
  auto silent = std::make_unique<HttpClient>(address);
  ASSERT_TRUE(eventually([&] { return server.connections() == 1; }, 10s));

  HttpClient second(address);
  EXPECT_TRUE(second.is_closed());
  EXPECT_EQ(server.counted("refused_connections_total", {{"reason", "handshakes"}}), 1);

  silent.reset();
  EXPECT_TRUE(eventually([&] { return server.connections() == 0; }, 10s));
  HttpClient third(address);
  EXPECT_TRUE(third.start_tls(nullptr));
}

TEST_F(HttpTls, OneAddressThatSaysNothingShutsNobodyElseOut) {
  RunningHttpServer server({.max_handshakes = 4, .max_handshakes_per_address = 2});
  const std::string address = start(server);
  const HttpClient first(address);
  const HttpClient second(address);
  ASSERT_TRUE(eventually([&] { return server.connections() == 2; }, 10s));

  HttpClient third(address);
  EXPECT_TRUE(third.is_closed());
  EXPECT_EQ(server.counted("refused_connections_total", {{"reason", "address_waiting"}}), 1);

  HttpClient other(address, "127.0.0.2");
  ASSERT_TRUE(other.start_tls(nullptr));
  EXPECT_EQ(other.ask("GET /").status, 200);
}

TEST_F(HttpTls, AHandshakeThatEndedCountsNoMore) {
  RunningHttpServer server({.max_handshakes_per_address = 1});
  const std::string address = start(server);
  HttpClient first(address);
  ASSERT_TRUE(first.start_tls(nullptr));
  EXPECT_EQ(first.ask("GET /").status, 200);

  HttpClient second(address);
  ASSERT_TRUE(second.start_tls(nullptr));

  EXPECT_EQ(second.ask("GET /").status, 200);
}

TEST_F(HttpTls, WithoutACertificateOfItsOwnItRefuses) {
  RunningHttpServer server;
  HttpClient client(server.listen("127.0.0.1:0", true));

  EXPECT_FALSE(client.start_tls(nullptr));
  EXPECT_EQ(server.counted("refused_connections_total", {{"reason", "no_certificate"}}), 1);
}

TEST_F(HttpTls, ACertificateThatDoesNotFitItsKeyChangesNothing) {
  RunningHttpServer server;
  const std::string address = start(server);
  const TestCertificate other = make_test_certificate("other");

  EXPECT_TRUE(absl::IsInvalidArgument(server.set_tls(own_.certificate_pem, other.private_key_pem)));
  EXPECT_TRUE(absl::IsInvalidArgument(server.set_tls("no certificate", other.private_key_pem)));
  EXPECT_TRUE(absl::IsInvalidArgument(server.set_tls(other.certificate_pem, "no key")));

  HttpClient client(address);
  ASSERT_TRUE(client.start_tls(nullptr));
  EXPECT_EQ(client.server_name(), "first");
}

TEST_F(HttpTls, CertificatesChangeUnderLoadWithoutALostRequest) {
  RunningHttpServer server;
  const std::string address = start(server);
  const TestCertificate next = make_test_certificate("second");
  HttpClient old(address);
  ASSERT_TRUE(old.start_tls(nullptr));
  std::atomic<bool> done = false;
  std::atomic<int> failed = 0;
  std::atomic<int> served = 0;
  std::thread load([&] {
    while (!done) {
      HttpClient client(address);
      const bool answered = client.start_tls(nullptr) && client.ask("GET /").status == 200;
      answered ? ++served : ++failed;
    }
  });

  for (int i = 0; i < 20; ++i) {
    const TestCertificate& now = i % 2 == 0 ? next : own_;
    EXPECT_TRUE(server.set_tls(now.certificate_pem, now.private_key_pem).ok());
    const int before = served + failed;
    EXPECT_TRUE(eventually([&] { return served + failed > before; }, 10s));
  }
  EXPECT_TRUE(server.set_tls(next.certificate_pem, next.private_key_pem).ok());
  done = true;
  load.join();

  EXPECT_EQ(failed, 0);
  EXPECT_EQ(old.ask("GET /").status, 200);
  HttpClient fresh(address);
  ASSERT_TRUE(fresh.start_tls(nullptr));
  EXPECT_EQ(fresh.server_name(), "second");
}

TEST_F(HttpTls, AStreamUnderTlsEndsWhenItsPeerGoes) {
  RunningHttpServer server;
  auto client = std::make_unique<HttpClient>(start(server));
  ASSERT_TRUE(client->start_tls(nullptr));

  client->send("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_THAT(client->read_until("tick\n"), HasSubstr("tick\n"));
  client.reset();

  EXPECT_TRUE(eventually([&] { return server.streams == 0 && server.connections() == 0; }, 10s));
}

}  // namespace
}  // namespace holdfast::test

// The controller's HTTP side over real sockets: what each listener serves, the API, watches.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/reason.h"
#include "running_web_server.h"
#include "support/eventually.h"
#include "support/http_client.h"
#include "support/temp_dir.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kWebLoopback = "127.0.0.1:0";

std::string service(const std::string& name) {
  return fmt::format(R"({{"kind":"service","metadata":{{"name":"{}"}},"spec":{{}}}})", name);
}

class Web : public testing::Test {
 protected:
  std::string socket() const { return "unix:" + dir_.file("http.sock"); }
  // Sends a watch and reads up to its Init.
  static std::string start_watch(HttpClient& client, std::string_view query,
                                 std::string_view headers = {}) {
    client.send(fmt::format("GET /v1/watch?{} HTTP/1.1\r\nHost: a\r\n{}\r\n", query, headers));
    return client.read_until("\n\n");
  }

 private:
  TempDir dir_;
};

TEST_F(Web, PlainTcpServesHealthAndMetricsOnly) {
  RunningWebServer server;
  HttpClient client(server.listen(kWebLoopback));

  EXPECT_EQ(client.ask("GET /livez").status, 200);
  EXPECT_EQ(client.ask("GET /healthz").body, "{\"status\":\"ok\"}\n");
  const Reply metrics = client.ask("GET /metrics");
  EXPECT_THAT(metrics.head, HasSubstr("Content-Type: text/plain; version=0.0.4"));
  EXPECT_THAT(metrics.body, HasSubstr("holdfast_http_requests_total{code=\"200\"} 2\n"));
  EXPECT_EQ(client.ask("GET /v1/service").status, 404);
  EXPECT_EQ(client.ask("POST /v1/service", service("web")).status, 404);
  EXPECT_EQ(client.ask("GET /nothing").status, 404);
  EXPECT_EQ(client.ask("GET /readyz?x=1").status, 400);
}

TEST_F(Web, AControllerSaysThatItHasNoCacheAndWhereThereAreSome) {
  RunningWebServer server;
  HttpClient client(server.listen(socket()));

  const Reply reply = client.ask("GET /v1/caches");

  EXPECT_EQ(reply.status, 404);
  EXPECT_THAT(reply.body, HasSubstr("spec.caches"));
  EXPECT_THAT(client.ask("GET /v1/service").head, Not(HasSubstr("Holdfast-Source")));
}

TEST_F(Web, ReadinessFollowsHealthAndSoDoConnections) {
  RunningWebServer server;
  const std::string address = server.listen(kWebLoopback);
  HttpClient before(address);
  EXPECT_EQ(before.ask("GET /readyz?verbose").status, 200);

  server.report(coded(absl::StatusCode::kUnavailable, "HF1101", "the write took too long"));
  const Reply degraded = before.ask("GET /readyz");
  EXPECT_EQ(degraded.status, 503);
  EXPECT_THAT(degraded.body, HasSubstr(R"("reasons":["HF1101"])"));
  EXPECT_TRUE(degraded.says_close());
  for (const char* target : {"GET /healthz", "GET /nothing", "PUT /metrics", "GET /readyz/store"}) {
    HttpClient client(address);
    EXPECT_TRUE(client.ask(target).says_close()) << target;
    EXPECT_TRUE(client.is_closed()) << target;
  }
}

TEST_F(Web, ACertificateDecidesRequestByRequest) {
  RunningWebServer server;
  const TestCertificate own = make_test_certificate("controller");
  server.set_tls(own.certificate_pem, own.private_key_pem);
  const std::string address = server.listen(kWebLoopback, true);
  HttpClient nobody(address);
  HttpClient somebody(address);
  ASSERT_TRUE(nobody.start_tls(nullptr));
  ASSERT_TRUE(somebody.start_tls(&own));

  const Reply refused = nobody.ask("GET /v1/whoami");
  EXPECT_EQ(refused.status, 401);
  EXPECT_THAT(refused.body, HasSubstr("HF5002"));
  EXPECT_EQ(nobody.ask("GET /livez").status, 200);
  EXPECT_THAT(somebody.ask("GET /v1/whoami").body, HasSubstr(R"("role":"user","name":"test")"));
}

TEST_F(Web, AResourceIsMadeReadChangedAndRemoved) {
  RunningWebServer server;
  HttpClient client(server.listen(socket()));

  const Reply made = client.ask("POST /v1/service", service("web"));
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_THAT(made.head, HasSubstr("ETag: \"2\"\r\n"));
  EXPECT_THAT(made.head, HasSubstr("Cache-Control: no-store\r\n"));
  EXPECT_THAT(made.head, HasSubstr("X-Content-Type-Options: nosniff\r\n"));
  EXPECT_THAT(made.head, Not(HasSubstr("Access-Control")));
  EXPECT_EQ(client.ask("POST /v1/service", service("web")).status, 409);
  EXPECT_EQ(client.ask("GET /v1/services/web").body, made.body);
  EXPECT_THAT(client.ask("GET /v1/service").body, HasSubstr("\"revision\":2"));
  EXPECT_EQ(client.ask("PUT /v1/service/web", made.body).status, 200);
  EXPECT_EQ(client.ask("PUT /v1/service/web", made.body).status, 412);
  EXPECT_EQ(client.ask("PUT /v1/service/web", service("web")).status, 200);
  EXPECT_EQ(client.ask("DELETE /v1/service/web").body, "{\"revision\":5}\n");
  EXPECT_EQ(client.ask("GET /v1/service/web").status, 404);
  EXPECT_EQ(client.ask("PATCH /v1/service/web").status, 405);
}

TEST_F(Web, WhatCannotBeReadIsRefused) {
  RunningWebServer server;
  HttpClient client(server.listen(socket()));

  EXPECT_EQ(client.ask("POST /v1/service", "{").status, 400);
  EXPECT_EQ(client.ask("POST /v1/agent", service("web")).status, 400);
  EXPECT_EQ(client.ask("GET /v1/service?page_size=x").status, 400);
  EXPECT_EQ(client.ask("GET /v1/watch").status, 400);
  client.send(
      "POST /v1/service HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\n"
      "Content-Length: 2\r\n\r\n{}");
  EXPECT_EQ(client.read_reply().status, 415);
}

TEST_F(Web, AWriteWhoseKeyIsNoKeyIsNotDone) {
  RunningWebServer server;
  HttpClient client(server.listen(socket()));
  ASSERT_EQ(client.ask("PUT /v1/service/web", service("web")).status, 200);

  for (const char* keys :
       {"Idempotency-Key:\r\n", "Idempotency-Key: \"\"\r\n", "Idempotency-Key: short\r\n",
        "Idempotency-Key: 0123456789abcdef\r\n"
        "Idempotency-Key: 0123456789abcdef\r\n"}) {
    client.send(fmt::format("DELETE /v1/service/web HTTP/1.1\r\nHost: a\r\n{}\r\n", keys));
    const Reply refused = client.read_reply();
    EXPECT_EQ(refused.status, 400) << keys;
    EXPECT_THAT(refused.body, AllOf(HasSubstr("HF6010"), HasSubstr("Idempotency-Key: "))) << keys;
  }
  EXPECT_EQ(client.ask("GET /v1/service/web").status, 200);
}

TEST_F(Web, AWatchStreamsChangesAndResumesWithoutLossOrRepetition) {
  RunningWebServer server;
  const std::string address = server.listen(socket());
  {
    HttpClient first(address);
    const std::string init = start_watch(first, "kind=service");
    EXPECT_THAT(init, HasSubstr("Content-Type: text/event-stream\r\n"));
    EXPECT_THAT(init, HasSubstr("event: init\n"));
    server.put("a");
    EXPECT_THAT(first.read_until("id: 2\n\n"), HasSubstr("event: put\ndata: {"));
  }
  server.put("b");
  server.put("c");
  HttpClient asker(address);
  EXPECT_EQ(asker.ask("DELETE /v1/service/a").status, 200);

  HttpClient second(address);
  EXPECT_THAT(start_watch(second, "kind=service", "Last-Event-ID: 2\r\n"), HasSubstr("id: 2\n"));
  const std::string rest = second.read_until("id: 5\n\n");

  EXPECT_THAT(rest, Not(HasSubstr("id: 2\n")));
  EXPECT_THAT(rest, HasSubstr("id: 3\n"));
  EXPECT_THAT(rest, HasSubstr("id: 4\n"));
  EXPECT_THAT(rest, HasSubstr("event: delete\n"));
  EXPECT_TRUE(eventually([&] { return server.watcher_count() == 1; }, 10s));
}

TEST_F(Web, AWatchFromTooLongAgoOrTheFutureIsGone) {
  RunningWebServer server({}, {.capacity = 2});
  const std::string address = server.listen(socket());
  for (const char* name : {"a", "b", "c", "d"}) server.put(name);
  HttpClient client(address);

  EXPECT_EQ(client.ask("GET /v1/watch?kind=service&after=1").status, 410);
  EXPECT_EQ(client.ask("GET /v1/watch?kind=service&after=1000").status, 410);
  EXPECT_EQ(client.ask("GET /v1/watch?kind=unheard-of").status, 501);
  EXPECT_EQ(client.ask("HEAD /v1/watch?kind=service").status, 200);
}

TEST_F(Web, AQuietWatchSaysThatItIsStillThere) {
  RunningWebServer server({.watches = {.keep_alive = 50ms}});
  HttpClient client(server.listen(socket()));

  start_watch(client, "kind=service");

  EXPECT_THAT(client.read_until(": still here\n\n"), HasSubstr(": still here\n\n"));
}

TEST_F(Web, AWatcherThatDoesNotReadIsClosedWithTheReason) {
  RunningWebServer server({}, {.capacity = 2, .grace = 1s});
  HttpClient slow(server.listen(socket()));
  start_watch(slow, "kind=service");

  // More than the socket holds.
  for (int i = 0; i < 10; ++i) server.put(fmt::format("s{}", i), std::string(1 << 20, 'x'));
  server.pass(10s);

  EXPECT_THAT(slow.read_until("event: end"), testing::EndsWith("event: end"));
  EXPECT_THAT(slow.read_until("\n\n"), HasSubstr("HF1020"));
  EXPECT_TRUE(slow.is_closed());
}

TEST_F(Web, AWatchEndsWithItsCallersCertificate) {
  RunningWebServer server({.watches = {.keep_alive = 20ms}});
  server.set_expiry(SystemClock().wall_now() + 300ms);
  HttpClient client(server.listen(socket()));

  start_watch(client, "kind=service");

  EXPECT_THAT(client.read_until("event: end"), HasSubstr("event: end"));
  EXPECT_THAT(client.read_until("\n\n"), HasSubstr("HF5003"));
  EXPECT_TRUE(client.is_closed());
}

TEST_F(Web, AWatchEndsWhenItIsNoLongerAllowed) {
  RunningWebServer server;
  HttpClient client(server.listen(socket()));
  start_watch(client, "kind=service");

  server.revoke(coded(absl::StatusCode::kUnauthenticated, "HF5012", "this user was disabled"));

  EXPECT_THAT(client.read_until("event: end"), HasSubstr("event: end"));
  EXPECT_THAT(client.read_until("\n\n"), HasSubstr("HF5012"));
  EXPECT_TRUE(client.is_closed());
}

TEST_F(Web, WatchesHaveALimit) {
  RunningWebServer server({.watches = {.max_watchers = 1}});
  const std::string address = server.listen(socket());
  HttpClient first(address);
  start_watch(first, "kind=service");
  HttpClient second(address);

  const Reply refused = second.ask("GET /v1/watch?kind=service");

  EXPECT_EQ(refused.status, 429);
  EXPECT_THAT(refused.head, HasSubstr("Retry-After: 1\r\n"));
}

TEST_F(Web, StoppingTellsWatchersWhy) {
  RunningWebServer server;
  HttpClient client(server.listen(socket()));
  start_watch(client, "kind=service");

  server.stop();

  EXPECT_THAT(client.read_until("event: end"), HasSubstr("event: end"));
  EXPECT_THAT(client.read_until("\n\n"), HasSubstr("the controller is stopping"));
}

}  // namespace
}  // namespace holdfast::test

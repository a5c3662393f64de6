// The HTTP server over real sockets on loopback, with clients that behave and clients that do not.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <list>

#include "running_http_server.h"
#include "support/eventually.h"
#include "support/http_client.h"
#include "support/sanitized.h"
#include "support/temp_dir.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kHttpLoopback = "127.0.0.1:0";
constexpr const char* kGet = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

TEST(Http, OneConnectionServesManyRequests) {
  RunningHttpServer server;
  HttpClient client(server.listen(kHttpLoopback));

  for (int i = 0; i < 3; ++i) {
    const Reply reply = client.ask("GET /");
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.body, "hello GET");
    EXPECT_FALSE(reply.says_close());
  }
  EXPECT_EQ(server.counted("requests_total", {{"code", "200"}}), 3);
}

TEST(Http, RequestsSentAtOnceAreAnsweredInOrder) {
  RunningHttpServer server;
  HttpClient client(server.listen(kHttpLoopback));

  client.send(std::string(kGet) + "POST /size HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc" +
              kGet);

  EXPECT_EQ(client.read_reply().body, "hello GET");
  EXPECT_EQ(client.read_reply().body, "3");
  EXPECT_EQ(client.read_reply().body, "hello GET");
}

TEST(Http, AHeadHasTheLengthButNotTheBody) {
  RunningHttpServer server;
  HttpClient client(server.listen(kHttpLoopback));

  client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
  const std::string head = client.read_until("\r\n\r\n");
  EXPECT_THAT(head, HasSubstr("Content-Length: 10\r\n"));
  EXPECT_EQ(client.ask("GET /").body, "hello GET");
}

TEST(Http, OldClientsGetOneAnswerAndTheEnd) {
  RunningHttpServer server;
  HttpClient client(server.listen(kHttpLoopback));

  client.send("GET / HTTP/1.0\r\n\r\n");

  EXPECT_EQ(client.read_reply().status, 200);
  EXPECT_TRUE(client.is_closed());
}

TEST(Http, ABodyThatWaitsToBeAskedForIsAskedFor) {
  RunningHttpServer server;
  HttpClient client(server.listen(kHttpLoopback));

  client.send(
      "POST /size HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("12345");

  EXPECT_EQ(client.read_reply().body, "5");
}

TEST(Http, AHeaderTooLongGets431AndTheEnd) {
  RunningHttpServer server;
  HttpClient client(server.listen(kHttpLoopback));

  client.send("GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(20'000, 'a'));

  const Reply reply = client.read_reply();
  EXPECT_EQ(reply.status, 431);
  EXPECT_THAT(reply.body, StartsWith(R"({"error":{"code":"HF6031")"));
  EXPECT_TRUE(reply.says_close());
  EXPECT_TRUE(client.is_closed());
}

TEST(Http, ABodyTooBigGets413ThoughItIsStillBeingSent) {
  RunningHttpServer server({.limits = {.max_body_bytes = 1'000}});
  HttpClient client(server.listen(kHttpLoopback));

  client.send("POST /size HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n" +
              std::string(100'000, 'x'));

  const Reply reply = client.read_reply();
  EXPECT_EQ(reply.status, 413);
  EXPECT_TRUE(client.is_closed());
}

TEST(Http, BodiesTogetherHaveALimit) {
  RunningHttpServer server({.max_buffered_bytes = 10'000});
  const std::string address = server.listen(kHttpLoopback);
  HttpClient first(address);
  first.send("POST /size HTTP/1.1\r\nHost: a\r\nContent-Length: 9000\r\n\r\n" +
             std::string(8'000, 'x'));
  HttpClient second(address);
  Reply reply;
  // Until the first one's bytes have been read there is room for the second's.
  const bool refused = eventually(
      [&] {
        HttpClient asking(address);
        reply = asking.ask("POST /size", std::string(5'000, 'y'));
        return reply.status == 503;
      },
      10s);

  EXPECT_TRUE(refused);
  EXPECT_THAT(reply.body, HasSubstr("HF1020"));
  first.send(std::string(1'000, 'x'));
  EXPECT_EQ(first.read_reply().body, "9000");
  EXPECT_EQ(second.ask("POST /size", std::string(5'000, 'y')).body, "5000");
}

TEST(Http, GarbageGets400AndTheEnd) {
  RunningHttpServer server;
  const std::string address = server.listen(kHttpLoopback);
  for (const std::string_view bytes :
       {std::string_view("\x16\x03\x01\x00\x05hello\r\n\r\n", 15), std::string_view("\r\n\r\n\r\n"),
        std::string_view("GET / HTTP/1.1\r\n\r\n"),
        std::string_view("GET /%zz HTTP/1.1\r\n\r\n")}) {
    HttpClient client(address);
    client.send(bytes);
    EXPECT_EQ(client.read_reply().status, 400) << testing::PrintToString(bytes);
  }
}

TEST(Http, ASlowHeaderIsCutWhileOthersAreServed) {
  RunningHttpServer server({.header_timeout = 300ms});
  const std::string address = server.listen(kHttpLoopback);
  HttpClient slow(address);
  HttpClient other(address);
  bool sent = true;

  // A byte at a time: each comes in time, the whole never does.
  const bool cut = eventually(
      [&] {
        sent = sent && slow.send("G");
        EXPECT_EQ(other.ask("GET /").status, 200);
        return server.counted("cut_connections_total", {{"reason", "header_timeout"}}) == 1;
      },
      10s);

  EXPECT_TRUE(cut);
  EXPECT_TRUE(slow.is_closed());
  EXPECT_EQ(other.ask("GET /").status, 200);
}

TEST(Http, ASlowBodyIsCut) {
  RunningHttpServer server({.body_timeout = 200ms});
  HttpClient slow(server.listen(kHttpLoopback));

  slow.send("POST /size HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n12");

  EXPECT_TRUE(slow.is_closed());
  EXPECT_EQ(server.counted("cut_connections_total", {{"reason", "body_timeout"}}), 1);
}

TEST(Http, AnIdleConnectionIsClosedAfterItsTime) {
  RunningHttpServer server({.idle_timeout = 200ms});
  HttpClient client(server.listen(kHttpLoopback));
  EXPECT_EQ(client.ask("GET /").status, 200);

  EXPECT_TRUE(client.is_closed());
  EXPECT_EQ(server.counted("cut_connections_total", {{"reason", "idle_timeout"}}), 1);
}

TEST(Http, AConnectionThatNeverAsksIsClosedSoonerThanAnIdleOne) {
  RunningHttpServer server({.idle_timeout = 10min, .first_timeout = 200ms});
  const std::string address = server.listen(kHttpLoopback);
  HttpClient asking(address);
  EXPECT_EQ(asking.ask("GET /").status, 200);

  HttpClient silent(address);
  EXPECT_TRUE(silent.is_closed());
  EXPECT_EQ(server.counted("cut_connections_total", {{"reason", "idle_timeout"}}), 1);
  EXPECT_EQ(asking.ask("GET /").status, 200);
}

TEST(Http, OneAddressDoesNotTakeEveryConnection) {
  RunningHttpServer server({.max_connections = 8, .max_connections_per_address = 2});
  const std::string address = server.listen(kHttpLoopback);
  HttpClient first(address);
  EXPECT_EQ(first.ask("GET /").status, 200);
  auto second = std::make_unique<HttpClient>(address);
  EXPECT_EQ(second->ask("GET /").status, 200);

  HttpClient third(address);
  EXPECT_TRUE(third.is_closed());
  EXPECT_EQ(server.counted("refused_connections_total", {{"reason", "address"}}), 1);
  HttpClient other(address, "127.0.0.2");
  EXPECT_EQ(other.ask("GET /").status, 200);

  second.reset();
  EXPECT_TRUE(eventually([&] { return server.connections() == 2; }, 10s));
  HttpClient fourth(address);
  EXPECT_EQ(fourth.ask("GET /").status, 200);
}

TEST(Http, APeerThatDoesNotReadIsCut) {
  RunningHttpServer server({.write_timeout = 200ms});
  HttpClient client(server.listen(kHttpLoopback));
  const int small = 4'096;
  ::setsockopt(client.socket(), SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));

  client.send("GET /big HTTP/1.1\r\nHost: a\r\n\r\n");

  EXPECT_TRUE(eventually(
      [&] { return server.counted("cut_connections_total", {{"reason", "write_timeout"}}) == 1; },
      10s));
  EXPECT_TRUE(eventually([&] { return server.connections() == 0; }, 10s));
}

TEST(Http, ConnectionsAboveTheLimitAreClosedAsTheyCome) {
  RunningHttpServer server({.max_connections = 2});
  const std::string address = server.listen(kHttpLoopback);
  HttpClient first(address);
  auto second = std::make_unique<HttpClient>(address);
  EXPECT_EQ(first.ask("GET /").status, 200);
  EXPECT_EQ(second->ask("GET /").status, 200);

  HttpClient third(address);
  EXPECT_TRUE(third.is_closed());
  EXPECT_EQ(server.counted("refused_connections_total", {{"reason", "connections"}}), 1);
  EXPECT_EQ(first.ask("GET /").status, 200);

  second.reset();
  EXPECT_TRUE(eventually([&] { return server.connections() == 1; }, 10s));
  HttpClient fourth(address);
  EXPECT_EQ(fourth.ask("GET /").status, 200);
}

TEST(Http, ThousandsOfIdleConnectionsDisturbNobody) {
  constexpr size_t kIdle = 5'000;
  rlimit files = {};
  ::getrlimit(RLIMIT_NOFILE, &files);
  if (files.rlim_cur < 2 * kIdle + 200) GTEST_SKIP() << "needs 10,200 open files (ulimit -n)";
  RunningHttpServer server({.first_timeout = 60s});
  const std::string address = server.listen(kHttpLoopback);
  std::list<HttpClient> idle;
  while (idle.size() < kIdle) idle.emplace_back(address);
  ASSERT_TRUE(eventually([&] { return server.connections() == kIdle; }, 30s));
  HttpClient client(address);

  const SystemClock clock;
  const Time start = clock.now();
  for (int i = 0; i < 100; ++i) ASSERT_EQ(client.ask("GET /").status, 200);

  EXPECT_LT(clock.now() - start, 500ms * kSanitizerCost);
  EXPECT_EQ(idle.front().ask("GET /").status, 200);
  EXPECT_EQ(idle.back().ask("GET /").status, 200);
}

TEST(Http, WithoutDescriptorsItWaitsAndThenGoesOn) {
  RunningHttpServer server;
  const std::string address = server.listen(kHttpLoopback);
  HttpClient before(address);
  EXPECT_EQ(before.ask("GET /").status, 200);
  HttpClient kept(address);  // the client's own descriptor is had before the limit
  EXPECT_EQ(kept.ask("GET /").status, 200);
  rlimit usual = {};
  ::getrlimit(RLIMIT_NOFILE, &usual);
  const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  rlimit none_left = usual;
  none_left.rlim_cur = static_cast<rlim_t>(made) + 1;
  ::close(made);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none_left), 0);

  HttpClient waiting(address);  // takes the last one
  EXPECT_TRUE(eventually(
      [&] { return server.counted("refused_connections_total", {{"reason", "descriptors"}}) >= 1; },
      10s));
  EXPECT_EQ(before.ask("GET /").status, 200);
  // It paused between attempts instead of spinning.
  EXPECT_LT(server.counted("refused_connections_total", {{"reason", "descriptors"}}), 100);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);

  EXPECT_EQ(waiting.ask("GET /").status, 200);
}

TEST(Http, EveryResponseEndsItsConnectionWhileUnhealthy) {
  RunningHttpServer server;
  const std::string address = server.listen(kHttpLoopback);
  HttpClient kept(address);
  EXPECT_FALSE(kept.ask("GET /").says_close());

  server.healthy = false;
  EXPECT_TRUE(kept.ask("GET /").says_close());
  EXPECT_TRUE(kept.is_closed());
  HttpClient wrong(address);
  wrong.send("GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(wrong.read_reply().says_close());

  server.healthy = true;
  HttpClient after(address);
  EXPECT_FALSE(after.ask("GET /").says_close());
  EXPECT_EQ(after.ask("GET /").status, 200);
}

TEST(Http, AStreamEndsWhenItsPeerGoes) {
  RunningHttpServer server;
  const std::string address = server.listen(kHttpLoopback);
  auto client = std::make_unique<HttpClient>(address);

  client->send("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_THAT(client->read_until("\r\n\r\n"), HasSubstr("Transfer-Encoding: chunked\r\n"));
  EXPECT_EQ(client->read_until("tick\n\r\n"), "5\r\ntick\n\r\n");
  EXPECT_EQ(server.streams, 1);
  client.reset();

  EXPECT_TRUE(eventually([&] { return server.streams == 0 && server.connections() == 0; }, 10s));
}

TEST(Http, StoppingLetsRunningRequestsFinishAndEndsTheRest) {
  RunningHttpServer server({.grace = 5s});
  const std::string address = server.listen(kHttpLoopback);
  HttpClient idle(address);
  HttpClient busy(address);
  EXPECT_EQ(idle.ask("GET /").status, 200);
  busy.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return server.waiting == 1; }, 10s));

  std::thread stopping([&] { server.stop(); });
  EXPECT_TRUE(idle.is_closed());
  server.release_waiting();
  const Reply reply = busy.read_reply();
  stopping.join();

  EXPECT_EQ(reply.status, 200);
  EXPECT_TRUE(reply.says_close());
}

TEST(Http, StoppingCutsWhatOutlastsTheGrace) {
  RunningHttpServer server({.grace = 100ms});
  const std::string address = server.listen(kHttpLoopback);
  HttpClient waiting(address);
  HttpClient streaming(address);
  waiting.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
  streaming.send("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return server.waiting == 1 && server.streams == 1; }, 10s));

  server.stop();

  EXPECT_TRUE(waiting.is_closed());
  EXPECT_TRUE(streaming.is_closed());
  EXPECT_EQ(server.streams, 0);
}

TEST(Http, AUnixSocketIsForItsOwnerAndKnowsItsPeersAsLocal) {
  const TempDir dir;
  const std::string path = dir.file("http.sock");
  {
    RunningHttpServer first;
    first.listen("unix:" + path);
  }
  RunningHttpServer server;
  const std::string address = server.listen("unix:" + path);
  HttpClient client(address);
  struct stat file = {};

  EXPECT_EQ(client.ask("GET /peer").body, "unix true ");
  EXPECT_EQ(::stat(path.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
}

}  // namespace
}  // namespace holdfast::test

// What the HTTP server does for peers that ask once per connection and may give up, as probers do.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "running_http_server.h"
#include "support/eventually.h"
#include "support/http_client.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* kLoopback = "127.0.0.1:0";
constexpr const char* kLastGet = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

TEST(HttpOnce, ARawTargetIsPassedOnByteForByte) {
  RunningHttpServer server({.raw_targets = true});
  HttpClient client(server.listen(kLoopback));

  for (const std::string target :
       {"/a//b", "/a%2Fb/../c", "/%zz", "/?", "http://elsewhere/x", "*", "/a#b", "/caf\xc3\xa9"}) {
    EXPECT_EQ(client.ask("GET " + target).body, target);
  }
}

TEST(HttpOnce, AHandlerIsCancelledWhenItsPeerIsGone) {
  RunningHttpServer server({.raw_targets = true, .cancel_handlers = true});
  const std::string address = server.listen(kLoopback);
  {
    HttpClient client(address);
    client.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(eventually([&] { return server.waiting == 1; }, 5s));
  }

  EXPECT_TRUE(eventually([&] { return server.waiting == 0 && server.connections() == 0; }, 5s));
  EXPECT_EQ(server.counted("cut_connections_total", {{"reason", "peer_gone"}}), 1);
}

TEST(HttpOnce, APeerThatSentMoreIsStillSeenToGo) {
  RunningHttpServer server({.raw_targets = true, .cancel_handlers = true});
  const std::string address = server.listen(kLoopback);
  {
    HttpClient client(address);
    client.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\nGET /");
    ASSERT_TRUE(eventually([&] { return server.waiting == 1; }, 5s));
  }

  EXPECT_TRUE(eventually([&] { return server.waiting == 0 && server.connections() == 0; }, 5s));
}

TEST(HttpOnce, APeerThatWaitsIsAnswered) {
  RunningHttpServer server({.raw_targets = true, .cancel_handlers = true});
  HttpClient client(server.listen(kLoopback));
  client.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return server.waiting == 1; }, 5s));
  let_pass(300ms);  // several sweeps

  server.release_waiting();

  EXPECT_EQ(client.read_reply().status, 200);
  EXPECT_EQ(client.ask("GET /again").body, "/again");
}

TEST(HttpOnce, StoppingCancelsHandlersAfterTheGrace) {
  RunningHttpServer server({.grace = 50ms, .raw_targets = true, .cancel_handlers = true});
  HttpClient client(server.listen(kLoopback));
  client.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return server.waiting == 1; }, 5s));

  server.stop();

  EXPECT_EQ(server.waiting, 0);
}

TEST(HttpOnce, WhenFullTheOldestThatWaitsForItsPeerGivesWay) {
  RunningHttpServer server({.max_connections = 2, .raw_targets = true, .replace_waiting = true});
  const std::string address = server.listen(kLoopback);
  HttpClient handled(address);
  handled.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return server.waiting == 1; }, 5s));
  HttpClient slow(address);
  slow.send("GET / HT");
  ASSERT_TRUE(eventually([&] { return server.connections() == 2; }, 5s));

  HttpClient third(address);

  EXPECT_EQ(third.ask("GET /third").body, "/third");
  EXPECT_TRUE(slow.is_closed());
  EXPECT_EQ(server.counted("cut_connections_total", {{"reason", "replaced"}}), 1);
  server.release_waiting();
  EXPECT_EQ(handled.read_reply().status, 200);
}

TEST(HttpOnce, WhenAllAreBeingHandledTheNextIsRefused) {
  RunningHttpServer server({.max_connections = 1, .raw_targets = true, .replace_waiting = true});
  const std::string address = server.listen(kLoopback);
  HttpClient handled(address);
  handled.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return server.waiting == 1; }, 5s));

  HttpClient second(address);

  EXPECT_TRUE(second.is_closed());
  EXPECT_EQ(server.counted("refused_connections_total", {{"reason", "connections"}}), 1);
  server.release_waiting();
}

TEST(HttpOnce, WithoutDescriptorsTheOldestThatWaitsGivesWay) {
  RunningHttpServer server({.raw_targets = true, .replace_waiting = true});
  const std::string address = server.listen(kLoopback);
  HttpClient idle(address);
  EXPECT_EQ(idle.ask("GET /first").status, 200);
  rlimit usual = {};
  ::getrlimit(RLIMIT_NOFILE, &usual);
  const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  rlimit none_left = usual;
  none_left.rlim_cur = static_cast<rlim_t>(made) + 1;
  ::close(made);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none_left), 0);

  HttpClient next(address);  // takes the last one

  EXPECT_EQ(next.ask("GET /next").body, "/next");
  EXPECT_TRUE(idle.is_closed());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);
}

TEST(HttpOnce, AHandlerMayResetTheConnection) {
  RunningHttpServer server({.raw_targets = true});
  HttpClient client(server.listen(kLoopback));

  client.send("GET /reset HTTP/1.1\r\nHost: a\r\n\r\n");

  char byte = 0;
  EXPECT_EQ(::recv(client.socket(), &byte, 1, 0), -1);
  EXPECT_EQ(errno, ECONNRESET);
  EXPECT_EQ(server.counted("cut_connections_total", {{"reason", "reset"}}), 1);
}

TEST(HttpOnce, ThePeerMayCloseFirstSoThatTheWaitAfterwardsIsItsOwn) {
  RunningHttpServer server({.linger = 5s, .raw_targets = true, .peer_closes_first = true});
  HttpClient client(server.listen(kLoopback));
  client.send(kLastGet);

  EXPECT_EQ(client.read_reply().status, 200);

  char byte = 0;
  EXPECT_EQ(::recv(client.socket(), &byte, 1, MSG_DONTWAIT), -1);  // neither bytes nor the end
  EXPECT_EQ(errno, EAGAIN);
  ::shutdown(client.socket(), SHUT_WR);
  EXPECT_TRUE(client.is_closed());
}

TEST(HttpOnce, APeerThatDoesNotCloseIsClosedAfterTheLinger) {
  RunningHttpServer server({.linger = 50ms, .raw_targets = true, .peer_closes_first = true});
  HttpClient client(server.listen(kLoopback));
  client.send(kLastGet);

  EXPECT_EQ(client.read_reply().status, 200);
  EXPECT_TRUE(client.is_closed());
  EXPECT_EQ(server.counted("cut_connections_total", {{"reason", "linger_timeout"}}), 1);
}

TEST(HttpOnce, APeerThatClosedIsForgottenWhenTheNextComes) {
  RunningHttpServer server(
      {.linger = 1h, .sweep_period = 1h, .raw_targets = true, .peer_closes_first = true});
  const std::string address = server.listen(kLoopback);
  {
    HttpClient first(address);
    first.send(kLastGet);
    EXPECT_EQ(first.read_reply().status, 200);
  }

  HttpClient second(address);
  EXPECT_EQ(second.ask("GET /second").body, "/second");

  EXPECT_TRUE(eventually([&] { return server.connections() == 1; }, 5s));
}

TEST(HttpOnce, WhenFullAPeerThatWasAnsweredAndDoesNotCloseGivesWay) {
  RunningHttpServer server({.max_connections = 1,
                            .linger = 1h,
                            .raw_targets = true,
                            .replace_waiting = true,
                            .peer_closes_first = true});
  const std::string address = server.listen(kLoopback);
  HttpClient first(address);
  first.send(kLastGet);
  EXPECT_EQ(first.read_reply().status, 200);

  HttpClient second(address);

  EXPECT_EQ(second.ask("GET /second").body, "/second");
  EXPECT_TRUE(first.is_closed());
  EXPECT_EQ(server.counted("cut_connections_total", {{"reason", "replaced"}}), 1);
}

TEST(HttpOnce, APeerThatGoesOnSendingAfterItsLastRequestIsClosed) {
  RunningHttpServer server({.linger = 1h, .raw_targets = true, .peer_closes_first = true});
  HttpClient client(server.listen(kLoopback));
  client.send(kLastGet);
  EXPECT_EQ(client.read_reply().status, 200);

  client.send(std::string(512 << 10, 'x'));

  EXPECT_TRUE(eventually([&] { return server.connections() == 0; }, 5s));
}

}  // namespace
}  // namespace holdfast::test

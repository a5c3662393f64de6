// Connections that fail, by cause; backends that refuse; services without any.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <chrono>

#include "support/eventually.h"
#include "track_world.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* kTrackFailureVip = "10.96.0.1";

class TrackFailure : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = TrackWorld::why_not(); !why.empty()) GTEST_SKIP() << why;
    world.emplace();
  }

  // A port where nobody listens.
  static track::Backend nobody(uint8_t zone = 1) {
    return {.at = endpoint("127.0.0.1", port_of(listen_on("127.0.0.1"))), .zone = zone};
  }
  void never_eject() {
    hf_settings settings = *world->pins->settings();
    settings.refusals_to_eject = 0;
    ASSERT_TRUE(world->pins->change_settings(settings).ok());
  }
  // A backend that was ejected is not tried again.
  void probe_nobody() {
    hf_settings settings = *world->pins->settings();
    settings.probe_after_ns = settings.probe_at_most_ns = 3'600'000'000'000;
    ASSERT_TRUE(world->pins->change_settings(settings).ok());
  }
  // How often a connection to the VIP worked, out of so many.
  static int successes(int tries) {
    int worked = 0;
    for (int i = 0; i < tries; ++i)
      worked += try_connect(tcp_socket(), kTrackFailureVip, 80) == 0 ? 1 : 0;
    return worked;
  }

  // Takes all that wait; how many. Requires: a listener that does not block.
  static int drained(const Socket& listener) {
    int count = 0;
    while (accepted(listener).is_open()) ++count;
    return count;
  }

  std::optional<TrackWorld> world;
};

TEST_F(TrackFailure, RefusedIsOpenedClosedAndFailed) {
  world->serve({nobody()});
  for (int i = 0; i < 25; ++i) {
    EXPECT_EQ(try_connect(tcp_socket(), kTrackFailureVip, 80), -1);
    EXPECT_EQ(errno, ECONNREFUSED);
  }

  EXPECT_TRUE(world->comes_to({.opened = 25, .closed = 25}));
  EXPECT_EQ(world->sample().failures.refused, 25U);
}

TEST_F(TrackFailure, OneSocketRefusedFiveTimesIsFiveConnections) {
  world->serve({nobody()});
  const Socket mine = tcp_socket();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(try_connect(mine, kTrackFailureVip, 80), -1);

  EXPECT_TRUE(world->comes_to({.opened = 5, .closed = 5}));
  EXPECT_EQ(world->sample().failures.refused, 5U);
}

// A listener that answers no SYN any more: its queue is full.
struct FullListener {
  FullListener() {
    for (int i = 0; i < 2; ++i) {
      waiting.push_back(tcp_socket());
      ::fcntl(waiting.back().get(), F_SETFL, O_NONBLOCK);
      try_connect(waiting.back(), "127.0.0.1", port_of(listener));
    }
  }
  Socket listener = listen_on("127.0.0.1", 0);
  std::vector<Socket> waiting;
};

TEST_F(TrackFailure, AHalfOpenConnectionIsOneHoweverOftenItsSynIsRepeated) {
  const FullListener full;
  world->serve({backend(full.listener)});
  const Socket mine = tcp_socket();
  const int repeats = 2;
  ::setsockopt(mine.get(), IPPROTO_TCP, TCP_SYNCNT, &repeats, sizeof(repeats));
  ::fcntl(mine.get(), F_SETFL, O_NONBLOCK);
  try_connect(mine, kTrackFailureVip, 80);
  EXPECT_EQ(world->counts(), (Opened{.opened = 1, .closed = 0}));

  EXPECT_TRUE(eventually([&] { return world->counts().closed == 1; }, 20s));

  EXPECT_EQ(world->counts(), (Opened{.opened = 1, .closed = 1}));
  EXPECT_EQ(world->sample().failures.timed_out, 1U);
  EXPECT_EQ(world->sample().reserved, 0U);
}

TEST_F(TrackFailure, ClosedBeforeItWasAnsweredIsGivenUp) {
  const FullListener full;
  world->serve({backend(full.listener)});
  {
    const Socket mine = tcp_socket();
    ::fcntl(mine.get(), F_SETFL, O_NONBLOCK);
    try_connect(mine, kTrackFailureVip, 80);
  }

  EXPECT_TRUE(world->comes_to({.opened = 1, .closed = 1}));
  EXPECT_EQ(world->sample().failures.gave_up, 1U);
}

TEST_F(TrackFailure, AServiceWithoutBackendsIsUnreachableAtOnce) {
  world->serve(std::vector<track::Backend>{});

  EXPECT_EQ(try_connect(tcp_socket(), kTrackFailureVip, 80), -1);
  EXPECT_EQ(errno, EHOSTUNREACH);
  EXPECT_EQ(world->pins->stats()->no_backend, 1U);
}

TEST_F(TrackFailure, ARefusingBackendIsEjectedInTheKernelAndComesBackByItself) {
  const Socket good = listen_on("127.0.0.1");
  ::fcntl(good.get(), F_SETFL, O_NONBLOCK);
  const track::Backend bad = nobody();
  world->serve({backend(good), bad});
  successes(60);
  const uint32_t refused = world->sample().failures.refused;
  EXPECT_GE(refused, 5U);
  EXPECT_LE(refused, 7U) << "ejected after five, and perhaps probed";

  Socket revived(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  at.sin_port = htons(bad.at.port);
  const int on = 1;
  ::setsockopt(revived.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  ASSERT_EQ(::bind(revived.get(), reinterpret_cast<sockaddr*>(&at), sizeof(at)), 0);
  ASSERT_EQ(::listen(revived.get(), 512), 0);
  ::fcntl(revived.get(), F_SETFL, O_NONBLOCK);

  EXPECT_TRUE(eventually(
      [&] {
        successes(10);
        drained(good);
        return drained(revived) > 0;
      },
      20s));
  EXPECT_EQ(successes(40), 40);
  EXPECT_GT(drained(revived), 5);
  EXPECT_GE(world->pins->stats()->probes, 1U);
}

TEST_F(TrackFailure, ARefusingBackendOfAZoneThatIsNotListedIsEjectedToo) {
  probe_nobody();
  const Socket good = listen_on("127.0.0.1");
  world->serve({backend(good, 0), nobody(0)});

  EXPECT_EQ(successes(100), 95) << "five in a row are enough";

  EXPECT_TRUE(world->pins->counters()->empty()) << "and yet nothing is counted";
}

TEST_F(TrackFailure, WhenAllAreEjectedTheyAreTriedAllTheSame) {
  probe_nobody();
  world->serve({nobody()});
  EXPECT_EQ(successes(20), 0);

  EXPECT_TRUE(world->comes_to({.opened = 20, .closed = 20}));
  EXPECT_EQ(world->pins->stats()->panicked, 15U);
}

TEST_F(TrackFailure, AZoneThatRefusesIsLeftForTheNext) {
  probe_nobody();
  const Socket remote = listen_on("127.0.0.1");
  world->serve({nobody(1), backend(remote, 2)});
  successes(5);

  EXPECT_EQ(successes(50), 50);
  EXPECT_TRUE(world->comes_to({.opened = 50, .closed = 50}, 2));
}

TEST_F(TrackFailure, WithoutEjectionEveryAttemptGoesWhereItsWeightSays) {
  never_eject();
  const Socket good = listen_on("127.0.0.1", 4096);
  track::Backend heavy = backend(good);
  heavy.weight = 3;
  world->serve({heavy, nobody()});

  EXPECT_NEAR(successes(1000), 750, 60);
}

TEST_F(TrackFailure, ARemovedServiceIsNotTranslatedAndItsLiveConnectionsAreCountedToTheEnd) {
  const Socket good = listen_on("127.0.0.1");
  world->serve({backend(good)});
  const track::Key key = world->sample().key;
  Socket mine = connected(kTrackFailureVip, 80);

  world->serve(std::vector<track::ServiceSpec>{});
  EXPECT_NE(try_connect(tcp_socket(), kTrackFailureVip, 80), 0);
  mine = Socket();

  EXPECT_TRUE(eventually(
      [&] {
        const auto samples = *world->pins->counters();
        return samples.size() == 1 && samples[0].key == key && samples[0].counts.closed == 1;
      },
      5s));
  world->serve(std::vector<track::ServiceSpec>{});
  EXPECT_TRUE(world->pins->counters()->empty());
}

}  // namespace
}  // namespace holdfast::test

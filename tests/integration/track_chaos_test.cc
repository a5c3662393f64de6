// Tens of thousands of connections that begin and end in every way at once, with a limit, a backend
// that refuses, and agents that read: at the end opened is closed, and never was closed ahead.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <csignal>
#include <cstdio>

#include "base/rng.h"
#include "support/eventually.h"
#include "support/sanitized.h"
#include "track_world.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* kVip = "10.96.0.1";
constexpr uint32_t kLimit = 200;

// Takes connections and ends them: at once, with a reset, when the client does, or not at all.
int serve_badly(const Socket& listener, uint64_t seed) {
  Rng rng(seed);
  std::vector<Socket> held;
  for (;;) {
    Socket theirs = accepted(listener);
    if (!theirs.is_open()) return 1;
    const uint64_t what = rng.below(uint64_t{10});
    if (what < 2) reset_on_close(theirs);
    if (what >= 5) held.push_back(std::move(theirs));
    if (held.size() > 100) held.erase(held.begin(), held.begin() + 50);
  }
}

void one_connection(Rng& rng, std::vector<Socket>& held) {
  Socket mine = tcp_socket();
  if (rng.below(uint64_t{8}) == 0) ::fcntl(mine.get(), F_SETFL, O_NONBLOCK);
  const bool made = try_connect(mine, kVip, 80) == 0;
  const uint64_t what = rng.below(uint64_t{12});
  if (what == 0) reset_on_close(mine);
  if (what == 1 && made) ::shutdown(mine.get(), SHUT_WR);
  if (what == 2 && made) ::shutdown(mine.get(), SHUT_RDWR);
  if (what == 3 && !made) try_connect(mine, kVip, 80);
  if (what == 4) {
    Forked short_lived([] { return 0; });  // it has a copy of every socket
    short_lived.wait();
  }
  if (what >= 7) held.push_back(std::move(mine));
  if (held.size() > 60) held.erase(held.begin(), held.begin() + 40);
}

int be_a_client(uint64_t seed, int connections) {
  Rng rng(seed);
  std::vector<Socket> held;
  for (int i = 0; i < connections; ++i) one_connection(rng, held);
  return 0;
}

class TrackChaos : public testing::TestWithParam<uint64_t> {
 protected:
  void SetUp() override {
    if (const std::string why = TrackWorld::why_not(); !why.empty()) GTEST_SKIP() << why;
    world.emplace();
    for (Socket& listener : listeners) listener = listen_on("127.0.0.1", 4096);
    spec = {
        .vip = TrackWorld::vip(),
        .zone_order = {1, 2},
        .backends = {backend(listeners[0]),
                     backend(listeners[1], 2),
                     {.at = endpoint("127.0.0.1", port_of(listen_on("127.0.0.1"))), .zone = 2}}};
    spec.limits[1] = {.leased = kLimit};
    world->serve({spec});
  }

  uint32_t opened() { return world->counts(1).opened + world->counts(2).opened; }

  // While the clients run: counts that cannot be, and a limit that does not hold.
  void watch_counts(uint32_t until) {
    const auto deadline = std::chrono::steady_clock::now() + 120s;
    while (opened() < until && std::chrono::steady_clock::now() < deadline) {
      for (const uint8_t zone : {uint8_t{1}, uint8_t{2}}) {
        const hf_counts counts = world->sample(zone).counts;
        lowest = std::min(lowest, static_cast<int32_t>(counts.opened - counts.closed));
        if (zone == 1) highest = std::max(highest, counts.opened - counts.closed);
      }
      samples += 1;
    }
  }

  std::optional<TrackWorld> world;
  std::array<Socket, 2> listeners;
  track::ServiceSpec spec;
  int32_t lowest = 0;
  uint32_t highest = 0;
  int samples = 0;
};

TEST_P(TrackChaos, OpenedIsClosedInTheEndAndActiveIsNeverNegative) {
  constexpr uint32_t kWanted = kSanitized ? 8'000 : 30'000;
  std::vector<Forked> servers;
  for (uint64_t i = 0; i < 2; ++i) {
    servers.emplace_back([&, i] { return serve_badly(listeners[i], GetParam() + i); });
  }
  Rng rng(GetParam());
  uint64_t next = GetParam() * 1000;
  uint32_t killed = 0;
  while (opened() < kWanted) {
    std::vector<Forked> clients;
    for (int i = 0; i < 6; ++i) {
      clients.emplace_back([seed = ++next] { return be_a_client(seed, 1'000'000); });
    }
    watch_counts(
        std::min(kWanted, opened() + 3000 + static_cast<uint32_t>(rng.below(uint64_t{3000}))));
    for (Forked& client : clients) client.kill();
    killed += 6;
  }
  servers.clear();

  EXPECT_TRUE(eventually([&] { return world->alive() == 0; }, 30s)) << world->alive();
  for (const uint8_t zone : {uint8_t{1}, uint8_t{2}}) {
    const track::CounterSample end = world->sample(zone);
    EXPECT_EQ(end.counts.opened, end.counts.closed) << "zone " << int{zone};
    EXPECT_EQ(end.reserved, 0U) << "zone " << int{zone};
    EXPECT_GT(end.counts.opened, kWanted / 30) << "zone " << int{zone};
  }
  EXPECT_GE(opened(), kWanted);
  EXPECT_GE(lowest, 0) << "active was negative";
  EXPECT_LE(highest, kLimit) << "the limit was exceeded";
  EXPECT_GT(samples, 20);
  EXPECT_TRUE(world->pins->audit()->drifts.empty());
  std::printf("chaos %d: %u connections, %u processes killed, %d samples, zone 1 had at most %u\n",
              static_cast<int>(GetParam()), opened(), killed, samples, highest);
}

INSTANTIATE_TEST_SUITE_P(Runs, TrackChaos, testing::Values(1, 2));

}  // namespace
}  // namespace holdfast::test

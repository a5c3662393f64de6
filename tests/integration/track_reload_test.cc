// Programs and agents come and go under live connections; limits hold; what was missed is found.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>

#include "base/reason.h"
#include "support/eventually.h"
#include "track_world.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* kTrackReloadVip = "10.96.0.1";

// Of those that this process has; below 32 and above.
void keep_capabilities(uint32_t low, uint32_t high) {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, 2> kept{};
  kept[0].effective = kept[0].permitted = low;
  kept[1].effective = kept[1].permitted = high;
  ::syscall(SYS_capset, &header, kept.data());
}

class TrackReload : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = TrackWorld::why_not(); !why.empty()) GTEST_SKIP() << why;
    world.emplace();
    listener = listen_on("127.0.0.1", 4096);
    world->serve({backend(listener)});
  }

  std::vector<Socket> clients(int count) {
    std::vector<Socket> made;
    for (int i = 0; i < count; ++i) made.push_back(connected(kTrackReloadVip, 80));
    return made;
  }
  void limit(uint8_t zone, track::Limit to, track::ServiceSpec& spec) {
    spec.limits[zone] = to;
    world->serve({spec});
  }
  void detach(const std::string& program) {
    std::filesystem::remove(world->options.directory + "/link_" + program);
  }

  std::optional<TrackWorld> world;
  Socket listener;
};

TEST_F(TrackReload, AnUpgradeUnderLiveConnectionsLosesNothing) {
  std::vector<Socket> live = clients(20);

  const auto loaded = world->load_again();
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->links_made, 0);
  EXPECT_EQ(loaded->links_updated, 11);
  EXPECT_EQ(loaded->maps_reused, 10);
  world->restart_agent();
  world->serve({backend(listener)});
  Forked killed([this] {
    const std::vector<Socket> held = clients(5);
    return ::pause();
  });
  EXPECT_TRUE(world->comes_to({.opened = 25, .closed = 0}));
  EXPECT_EQ(peer_name(live[0]), "10.96.0.1:80");

  live.clear();
  killed.kill();

  EXPECT_TRUE(world->comes_to({.opened = 25, .closed = 25}));
}

TEST_F(TrackReload, AnUpgradeThatNamesNobodyLeavesThePinsToTheirOwner) {
  constexpr uint32_t kUser = 65534;
  constexpr uint32_t kGroup = 65533;
  world->options.owner = track::Owner{.user = kUser, .group = kGroup};
  ASSERT_TRUE(world->load_again().ok());
  world->options.owner.reset();

  ASSERT_TRUE(world->load_again().ok());

  std::vector<std::string> paths = {world->options.directory};
  for (const auto& entry : std::filesystem::directory_iterator(world->options.directory)) {
    paths.push_back(entry.path().string());
  }
  EXPECT_GE(paths.size(), 23U) << "10 maps, 11 links, a program and their folder";
  for (const std::string& path : paths) {
    struct stat status{};
    ASSERT_EQ(::lstat(path.c_str(), &status), 0) << path;
    EXPECT_EQ(status.st_uid, kUser) << path;
    EXPECT_EQ(status.st_gid, kGroup) << path;
  }
}

TEST_F(TrackReload, ManyUpgradesUnderTrafficLoseNothing) {
  Forked traffic([this] {
    for (int i = 0; i < 5000; ++i) {
      const Socket mine = connected(kTrackReloadVip, 80);
      accepted(listener);
    }
    return 0;
  });
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(world->load_again().ok());
  EXPECT_EQ(traffic.wait(), 0);

  EXPECT_TRUE(world->comes_to({.opened = 5000, .closed = 5000}));
}

// What the agent is for the kernel: it opens the pins, changes plans, reads, and dies at any
// moment.
int be_an_agent(const TrackWorld& world, const std::vector<track::Backend>& backends) {
  for (uint32_t turn = 0;; ++turn) {
    auto pins = track::Pins::open(world.options.directory);
    if (!pins.ok()) return 1;
    const auto present = (*pins)->read();
    if (!present.ok()) return 2;
    track::Model model((*pins)->sizes(), *present);
    track::ServiceSpec spec{
        .vip = TrackWorld::vip(), .zone_order = {1, 2, 3}, .backends = backends};
    spec.backends[0].weight = 1 + turn % 5;
    const auto samples = (*pins)->counters();
    if (!samples.ok()) return 3;
    const auto changes = model.reconcile({spec}, track::busy_keys(*samples));
    if (!(*pins)->apply(changes.writes).ok()) return 4;
  }
}

TEST_F(TrackReload, AgentsKilledUnderLoadLoseNothing) {
  Socket second = listen_on("127.0.0.1", 4096);
  const std::vector<track::Backend> backends = {backend(listener), backend(second)};
  world->serve(backends);
  std::vector<Forked> servers;
  for (const Socket* each : {&listener, &second}) {
    servers.emplace_back([each] {
      for (;;) accepted(*each);
      return 0;
    });
  }
  Forked traffic([] {
    for (int i = 0; i < 8000; ++i) {
      const Socket mine = tcp_socket();
      if (try_connect(mine, kTrackReloadVip, 80) != 0) return 1;
    }
    return 0;
  });
  for (int i = 0; i < 10; ++i) {
    Forked agent([&] { return be_an_agent(*world, backends); });
    let_pass(60ms);
    agent.kill();
  }
  EXPECT_EQ(traffic.wait(), 0) << "no connection failed";

  world->restart_agent();
  world->serve(backends);
  EXPECT_TRUE(world->comes_to({.opened = 8000, .closed = 8000}));
}

TEST_F(TrackReload, SockopsDetachedWhileLiveAndBackBeforeTheEndMissesNothing) {
  std::vector<Socket> live = clients(10);
  detach("hf_sockops");
  ASSERT_TRUE(world->load_again().ok());
  live.clear();

  EXPECT_TRUE(world->comes_to({.opened = 10, .closed = 10}));
}

TEST_F(TrackReload, EndsMissedWhileDetachedAreFoundByTheAuditAndRepaired) {
  std::vector<Socket> live = clients(14);
  detach("hf_sockops");
  for (int i = 0; i < 10; ++i) live.pop_back();
  let_pass(200ms);  // the ends happen, and nobody is told
  EXPECT_EQ(world->counts(), (Opened{.opened = 14, .closed = 0}));
  ASSERT_TRUE(world->load_again().ok());
  world->restart_agent();
  world->serve({backend(listener)});

  const auto audited = world->pins->audit();

  ASSERT_TRUE(audited.ok()) << audited.status();
  ASSERT_EQ(audited->drifts.size(), 1U);
  EXPECT_EQ(audited->drifts[0].active, 10);
  EXPECT_EQ(audited->drifts[0].reserved, 10);
  RecordProperty("drift_found_and_repaired", 10);
  EXPECT_TRUE(world->comes_to({.opened = 14, .closed = 10}));
  EXPECT_TRUE(world->pins->audit()->drifts.empty()) << "and now it is right";
  live.clear();
  EXPECT_TRUE(world->comes_to({.opened = 14, .closed = 14}));
}

TEST_F(TrackReload, AnAuditUnderTrafficRepairsNothingThatIsRight) {
  Forked traffic([this] {
    for (int i = 0; i < 4000; ++i) {
      const Socket mine = connected(kTrackReloadVip, 80);
      accepted(listener);
    }
    return 0;
  });
  for (int i = 0; i < 100; ++i) {
    const auto audited = world->pins->audit();
    ASSERT_TRUE(audited.ok());
    for (const track::Drift& drift : audited->drifts) {
      ADD_FAILURE() << "audit " << i << " found " << drift.active << "/" << drift.reserved;
    }
  }
  EXPECT_EQ(traffic.wait(), 0);

  EXPECT_TRUE(world->comes_to({.opened = 4000, .closed = 4000}));
}

TEST_F(TrackReload, ASocketOutlivesTheCgroupItWasMadeIn) {
  const std::string inner = world->options.cgroup + "/inner";
  ASSERT_EQ(::mkdir(inner.c_str(), 0755), 0);
  int pair[2];
  ASSERT_EQ(::pipe(pair), 0);
  Socket go(pair[1]);
  Forked child([&] {
    go = Socket();
    std::FILE* procs = std::fopen((inner + "/cgroup.procs").c_str(), "w");
    std::fprintf(procs, "%d", ::getpid());
    std::fclose(procs);
    const Socket mine = connected(kTrackReloadVip, 80);
    world->enter_cgroup();
    ::rmdir(inner.c_str());
    char byte = 0;
    return static_cast<int>(::read(pair[0], &byte, 1));
  });
  ::close(pair[0]);
  EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(inner); }, 5s));
  EXPECT_TRUE(world->comes_to({.opened = 1, .closed = 0}));

  go = Socket();
  EXPECT_EQ(child.wait(), 0);

  EXPECT_TRUE(world->comes_to({.opened = 1, .closed = 1}));
}

TEST_F(TrackReload, TheLimitOfAZoneIsExactWithFourProcessesAtOnce) {
  const Socket remote = listen_on("127.0.0.1", 4096);
  track::ServiceSpec spec{.vip = TrackWorld::vip(),
                          .zone_order = {1, 2},
                          .backends = {backend(listener), backend(remote, 2)}};
  limit(1, {.leased = 100}, spec);
  std::vector<Forked> processes;
  for (int i = 0; i < 4; ++i) {
    processes.emplace_back([this] {
      const std::vector<Socket> held = clients(60);
      return ::pause();
    });
  }

  EXPECT_TRUE(world->comes_to({.opened = 100, .closed = 0}, 1));
  EXPECT_TRUE(world->comes_to({.opened = 140, .closed = 0}, 2));
  EXPECT_EQ(world->pins->stats()->spilled, 140U);
  for (Forked& process : processes) process.kill();
  EXPECT_TRUE(world->comes_to({.opened = 100, .closed = 100}, 1));
  EXPECT_TRUE(world->comes_to({.opened = 140, .closed = 140}, 2));
}

TEST_F(TrackReload, WhenEveryZoneIsFullThePolicyDecides) {
  track::ServiceSpec spec{.vip = TrackWorld::vip(),
                          .zone_order = {1},
                          .backends = {backend(listener)},
                          .when_full = track::WhenFull::Reject};
  limit(1, {.leased = 3}, spec);
  const std::vector<Socket> held = clients(3);

  EXPECT_EQ(try_connect(tcp_socket(), kTrackReloadVip, 80), -1);
  EXPECT_EQ(errno, ECONNREFUSED);
  EXPECT_EQ(world->counts(), (Opened{.opened = 3, .closed = 0}));
  EXPECT_EQ(world->pins->stats()->rejected, 1U);

  spec.when_full = track::WhenFull::Overflow;
  world->serve({spec});
  EXPECT_EQ(try_connect(tcp_socket(), kTrackReloadVip, 80), 0);
  EXPECT_EQ(world->pins->stats()->overflowed, 1U);
}

TEST_F(TrackReload, ALeaseThatRunsOutFallsBackToTheFixedShareWithoutTheAgent) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const uint64_t now_ns =
      static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
  track::ServiceSpec spec{.vip = TrackWorld::vip(),
                          .zone_order = {1},
                          .backends = {backend(listener)},
                          .when_full = track::WhenFull::Reject,
                          .lease_end_ns = now_ns + 400'000'000};
  limit(1, {.leased = 100, .fixed = 2}, spec);
  const std::vector<Socket> held = clients(5);

  EXPECT_TRUE(eventually([] { return try_connect(tcp_socket(), kTrackReloadVip, 80) != 0; }, 5s));

  // The last that got through before is still on its way out.
  EXPECT_TRUE(eventually([this] { return world->sample().reserved <= 5; }, 5s));
  EXPECT_EQ(world->sample().reserved, 5U) << "those that are there stay";
}

TEST_F(TrackReload, UnloadingLeavesNothingBehindAndConnectionsGoOn) {
  const Socket mine = connected(kTrackReloadVip, 80);
  const Socket theirs = accepted(listener);

  ASSERT_TRUE(track::unload(world->options.directory).ok());

  for (const auto& entry : std::filesystem::directory_iterator(world->options.directory)) {
    // The kernel itself puts listings for people into a new bpffs.
    EXPECT_EQ(entry.path().extension(), ".debug") << entry.path();
  }
  EXPECT_NE(try_connect(tcp_socket(), kTrackReloadVip, 80), 0);
  ASSERT_EQ(::send(mine.get(), "still", 5, 0), 5);
  EXPECT_EQ(received(theirs), "still");
  const auto pins = track::Pins::open(world->options.directory);
  EXPECT_EQ(split_reason(pins.status()).code, "HF8108");
}

TEST_F(TrackReload, WhatIsMissingIsSaid) {
  track::LoadOptions wrong = world->options;
  wrong.mount_bpffs = false;
  wrong.directory = "/tmp/no-bpffs-here";
  EXPECT_EQ(split_reason(track::load(wrong).status()).code, "HF8102");
  wrong = world->options;
  wrong.cgroup = "/tmp";
  EXPECT_EQ(split_reason(track::load(wrong).status()).code, "HF8103");
  wrong.cgroup = world->options.cgroup + "/..";
  EXPECT_EQ(split_reason(track::load(wrong).status()).code, "HF8107");
  Forked user([&] {
    if (::setresuid(65534, 65534, 65534) != 0) return 1;
    return split_reason(track::load(world->options).status()).code == "HF8101" ? 0 : 2;
  });
  EXPECT_EQ(user.wait(), 0);
}

// What a container's root often is: it is the rights that are missing, not a newer kernel.
TEST_F(TrackReload, RootWithoutCapabilitiesIsToldThatRightsAreMissing) {
  const auto code_without = [&](uint32_t low, uint32_t high) {
    Forked root([&] {
      keep_capabilities(low, high);
      const Status loaded = track::load(world->options).status();
      return std::stoi(std::string(split_reason(loaded).code.substr(2))) - 8000;
    });
    return root.wait();
  };

  EXPECT_EQ(code_without(0, 0), 101) << "HF8101";
  EXPECT_EQ(code_without(0, 1U << (CAP_BPF - 32)), 101) << "one of three is not enough";
}

TEST_F(TrackReload, ACgroupThatIsMadeIsToldOf) {
  track::LoadOptions options = world->options;
  options.cgroup += "/typo";
  options.directory += "/other";
  options.make_cgroup = true;
  EXPECT_TRUE(track::check_machine(options).ok()) << track::check_machine(options);

  const auto loaded = track::load(options);

  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_TRUE(loaded->cgroup_made);
  EXPECT_FALSE(track::load(options)->cgroup_made);
  ASSERT_TRUE(track::unload(options.directory).ok());
  EXPECT_EQ(::rmdir(options.cgroup.c_str()), 0);
}

TEST_F(TrackReload, PinsOfAnotherLayoutAreRefused) {
  hf_settings settings = *world->pins->settings();
  settings.layout = HF_LAYOUT + 1;
  ASSERT_TRUE(world->pins->change_settings(settings).ok());

  EXPECT_EQ(split_reason(world->load_again().status()).code, "HF8105");
  EXPECT_EQ(split_reason(track::Pins::open(world->options.directory).status()).code, "HF8105");
}

}  // namespace
}  // namespace holdfast::test

// The real command in a loop behind a balancer, while one controller after another is killed, hung
// or loses its store: it never fails, because there is always one that could answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "e2e/etcd_pair.h"
#include "support/eventually.h"
#include "support/paths.h"
#include "support/sanitized.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;

// How long a command waits; a fault that is one to wait for lasts longer.
constexpr int kTimeoutSeconds = kSanitized ? 15 : 6;
constexpr Duration kLongFault = std::chrono::seconds(kTimeoutSeconds + 1);

class FailoverCli : public testing::Test {
 protected:
  FailoverCli() {
    const rpc::TlsOptions& admin = pair_.admin();
    std::ofstream(folder_.file("ca.pem")) << admin.ca_pem;
    std::ofstream(folder_.file("identity.pem")) << admin.private_key_pem << admin.certificate_pem;
    std::filesystem::permissions(folder_.file("identity.pem"), std::filesystem::perms::owner_read);
    std::ofstream(folder_.file("profile.yaml"))
        << "server: " << pair_.balancer().address() << "\ncluster: test\nuser: test-admin\n";
  }

  ProgramOutcome holdfast(Arguments arguments, std::string input = "") {
    arguments.insert(arguments.begin(), {built("holdfast"), "--profile", folder_.path().string(),
                                         "--timeout", std::to_string(kTimeoutSeconds)});
    return run_program({.arguments = std::move(arguments), .input = std::move(input)});
  }

  // Applies and gets until it is told to stop; what went wrong, one line each.
  void work(const std::atomic<bool>& stop) {
    using std::chrono::steady_clock;
    for (; !stop; ++rounds_) {
      const std::string name = "cli-" + std::to_string(rounds_);
      const auto begun = steady_clock::now();
      check(holdfast({"apply", "-f", "-"}, service_yaml(name)), "apply " + name);
      check(holdfast({"get", "service", name}), "get " + name);
      longest_ = std::max<Duration>(longest_, steady_clock::now() - begun);
    }
  }
  void check(const ProgramOutcome& outcome, const std::string& what) {
    if (outcome.exit_code == 0) return;
    failures_.push_back(what + ": " + std::to_string(outcome.exit_code) + " " + outcome.error);
  }

  TempDir folder_;
  EtcdPair pair_{{.arguments = {"--set", "health.recovery_window=1s"}}};
  size_t rounds_ = 0;
  Duration longest_{0};
  std::vector<std::string> failures_;
};

TEST_F(FailoverCli, EveryCommandSucceedsWhileControllersFailOneAfterAnother) {
  struct Fault {
    Half half;
    std::function<void(const Half&)> strike;
    Duration lasts;  // longer than a command waits, if it is one to wait for
  };
  const std::vector<Fault> faults = {
      {pair_.a(), [](const Half& half) { half.controller.kill(); }, 1s},
      {pair_.b(), [](const Half& half) { half.controller.freeze(); }, kLongFault},
      {pair_.a(), [](const Half& half) { half.lose_store(); }, kLongFault},
      {pair_.b(), [](const Half& half) { half.controller.kill(); }, 1s},
  };
  std::atomic<bool> stop = false;
  std::thread loop([&] { work(stop); });

  for (const Fault& fault : faults) {
    fault.strike(fault.half);
    let_pass(fault.lasts);
    pair_.mend();
  }
  stop = true;
  loop.join();

  std::printf("cli rounds %zu, longest round %ld ms\n", rounds_, static_cast<long>(longest_ / 1ms));
  EXPECT_THAT(failures_, IsEmpty());
  EXPECT_GT(rounds_, 10U);
}

}  // namespace
}  // namespace holdfast::test

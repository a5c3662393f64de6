// The harness itself, on one controller: what it must find, it finds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "e2e/cluster_process.h"
#include "e2e/pair_client.h"
#include "e2e/pair_door.h"
#include "e2e/pair_history.h"
#include "support/eventually.h"
#include "support/linear.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

EpochSighting seen(const std::string& half, uint64_t epoch, int called, int returned) {
  return {.half = half,
          .epoch = epoch,
          .called = Time(std::chrono::seconds(called)),
          .returned = Time(std::chrono::seconds(returned))};
}

TEST(PairHistory, AnEpochIsOfOneHalf) {
  EXPECT_THAT(wrong_epochs({seen("primary", 1, 0, 1), seen("backup", 2, 2, 3)}), IsEmpty());
  EXPECT_THAT(wrong_epochs({seen("primary", 1, 0, 1), seen("backup", 1, 2, 3)}),
              ElementsAre(HasSubstr("epoch 1 is of primary and of backup")));
}

TEST(PairHistory, EpochsDoNotGoBackForWhoAsksAfterAnAnswer) {
  EXPECT_THAT(wrong_epochs({seen("backup", 2, 2, 4), seen("primary", 1, 3, 5)}), IsEmpty())
      << "asked before the other was answered";
  EXPECT_THAT(wrong_epochs({seen("backup", 2, 2, 4), seen("primary", 1, 5, 6)}),
              ElementsAre("primary answered in epoch 1 what was asked 1.000000 s after backup had "
                          "answered in epoch 2"));
}

TEST(PairHistory, AWriteThatWasUnderWayBeforeAFaultDoesNotCountAsBegunAfterIt) {
  const auto write = [](int called, int returned, Ending ending = Ending::Ok) {
    return RegisterCall{.act = Act::Write,
                        .ending = ending,
                        .called = Time(std::chrono::seconds(called)),
                        .returned = Time(std::chrono::seconds(returned))};
  };
  const Time fault(std::chrono::seconds(5));
  PairHistory history;

  history.add(write(4, 9));
  history.add(write(6, 7, Ending::Unknown));
  EXPECT_EQ(history.acknowledged_writes(), 1U);
  EXPECT_EQ(history.acknowledged_writes_since(fault), 0U);

  history.add(write(6, 7));
  EXPECT_EQ(history.acknowledged_writes_since(fault), 1U);
}

TEST(PairClient, WhatMayHaveHappenedIsUnknownAndWhatDidNotIsNot) {
  EXPECT_EQ(ending_of(Act::Write, absl::OkStatus()), Ending::Ok);
  EXPECT_EQ(ending_of(Act::Write, absl::DeadlineExceededError("")), Ending::Unknown);
  EXPECT_EQ(ending_of(Act::Write, absl::UnavailableError("HF4115: outcome unknown")),
            Ending::Unknown);
  EXPECT_EQ(ending_of(Act::Write, absl::UnavailableError("HF4101: not the active half")),
            Ending::Failed);
  EXPECT_EQ(ending_of(Act::CompareAndSet, absl::AbortedError("")), Ending::Failed);
  EXPECT_EQ(ending_of(Act::Read, absl::NotFoundError("")), Ending::Ok);
}

// Four that follow, two that ask one address only. So many registers that after a start some are
// read before they are written anew, whoever comes first.
class Crowd {
 public:
  explicit Crowd(ClusterProcess& controller)
      : following_({.addresses = {controller.tcp_server()}, .tls = controller.admin()}),
        direct_(controller.tcp_server(), controller.admin(), 3s) {
    for (uint64_t i = 0; i < 6; ++i) {
      PairDoor& door = i < 4 ? static_cast<PairDoor&>(following_) : direct_;
      clients_.push_back(std::make_unique<PairClient>(
          PairClientOptions{.name = "c" + std::to_string(i), .registers = 24, .seed = i}, door,
          history_));
    }
  }
  bool goes_on(size_t writes) {
    const size_t before = history_.acknowledged_writes();
    const bool goes =
        eventually([&] { return history_.acknowledged_writes() >= before + writes; }, 20s);
    if (!goes) ADD_FAILURE() << clients_.front()->last_failure();
    return goes;
  }
  Verdict verdict() {
    for (const auto& client : clients_) client->finish();
    for (const auto& client : clients_) client->stop();
    clients_.front()->read_all();
    return check_history(history_.calls());
  }

 private:
  PairHistory history_;
  FollowingDoor following_;
  HalfDoor direct_;
  std::vector<std::unique_ptr<PairClient>> clients_;
};

TEST(PairHarness, AControllerThatIsKilledAgainAndAgainIsLinearizable) {
  ClusterProcess controller(without_rate_limit());
  Crowd crowd(controller);
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(crowd.goes_on(50));
    controller.kill();
    controller.start();
  }
  ASSERT_TRUE(crowd.goes_on(50));
  const Verdict verdict = crowd.verdict();
  EXPECT_TRUE(verdict.holds()) << verdict.explanation;
}

void copy_folder(const std::string& from, const std::string& to) {
  ASSERT_EQ(run_program({"cp", "-a", from, to}, 10s).exit_code, 0);
}

TEST(PairHarness, AControllerThatComesBackWithAnOldDiskIsFoundOut) {
  ClusterProcess controller(without_rate_limit());
  const TempDir folder;
  Crowd crowd(controller);
  ASSERT_TRUE(crowd.goes_on(20));
  controller.kill();
  copy_folder(controller.data_dir(), folder.file("old"));
  controller.start();
  ASSERT_TRUE(crowd.goes_on(100));
  controller.kill();
  std::filesystem::remove_all(controller.data_dir());
  copy_folder(folder.file("old"), controller.data_dir());
  controller.start();
  ASSERT_TRUE(crowd.goes_on(20));
  const Verdict verdict = crowd.verdict();
  ASSERT_EQ(verdict.kind, Verdict::Kind::Broken);
  EXPECT_THAT(verdict.explanation, HasSubstr("no order explains"));
}

}  // namespace
}  // namespace holdfast::test

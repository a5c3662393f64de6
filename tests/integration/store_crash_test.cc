// kill -9 in the middle of concurrent writers, and of appends and copies, again and again on one
// file: nothing acknowledged is lost, the file is never damaged, a copy is there whole or not at
// all. HF_CRASH_ROUNDS sets how often (default 12).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "base/rng.h"
#include "integration/store_follower_run.h"
#include "integration/store_writer_run.h"
#include "support/eventually.h"
#include "support/temp_dir.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

int rounds_asked_for() {
  const char* asked = std::getenv("HF_CRASH_ROUNDS");
  return asked != nullptr ? std::atoi(asked) : 12;
}

TEST(StoreCrash, NoAcknowledgedWriteIsLost) {
  const int rounds = rounds_asked_for();
  ASSERT_GT(rounds, 0);
  const TempDir dir;
  const std::string store = dir.file("store.db");
  std::set<std::string> acknowledged;
  Rng rng(7);
  for (int round = 0; round < rounds; ++round) {
    const std::string name = std::to_string(round);
    StoreWriterRun writer(store, dir.file("said-" + name), name);
    const size_t enough = 1 + rng.below(600);
    ASSERT_TRUE(eventually([&] { return writer.output().acknowledged.size() >= enough; }, 60s));

    writer.process().kill();

    acknowledged.merge(writer.output().acknowledged);
    const std::vector<std::string> lost = lost_writes(store, acknowledged);
    ASSERT_TRUE(lost.empty()) << "round " << round << ": " << lost.size() << " of "
                              << acknowledged.size() << " lost, first " << lost.front();
  }
  std::printf("%d rounds of kill -9: %zu acknowledged writes, 0 lost\n", rounds,
              acknowledged.size());
}

TEST(StoreCrash, AFollowerIsAWholeBeginningOfWhatItFollows) {
  const int rounds = rounds_asked_for();
  ASSERT_GT(rounds, 0);
  const TempDir dir;
  const std::string store = dir.file("store.db");
  size_t acknowledgements = 0;
  size_t copies = 0;
  Rng rng(11);
  for (int round = 0; round < rounds; ++round) {
    const store::Epoch epoch = 1 + 2 * static_cast<store::Epoch>(round);
    StoreFollowerRun follower(store, dir.file("followed-" + std::to_string(round)), epoch);
    const size_t enough = 1 + rng.below(200);
    const auto steps = [&] { return follower.output().pages + follower.output().acknowledgements; };
    ASSERT_TRUE(eventually([&] { return steps() >= enough; }, 60s));

    follower.process().kill();

    const FollowerOutput said = follower.output();
    EXPECT_THAT(said.errors, testing::IsEmpty());
    ASSERT_EQ(fault_of_follower(store, said.acknowledged), "") << "round " << round;
    acknowledgements += said.acknowledgements;
    copies += said.copies;
  }
  std::printf("%d rounds of kill -9: %zu acknowledged appends, %zu whole copies, 0 lost\n", rounds,
              acknowledgements, copies);
}

}  // namespace
}  // namespace holdfast::test

// kill -9 in the middle of concurrent writers, again and again on one file: no acknowledged write
// is lost, the file is never damaged. HF_CRASH_ROUNDS sets how often (default 12).
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "base/rng.h"
#include "integration/store_writer_run.h"
#include "support/eventually.h"
#include "support/temp_dir.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

TEST(StoreCrash, NoAcknowledgedWriteIsLost) {
  const char* asked = std::getenv("HF_CRASH_ROUNDS");
  const int rounds = asked != nullptr ? std::atoi(asked) : 12;
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

}  // namespace
}  // namespace holdfast::test

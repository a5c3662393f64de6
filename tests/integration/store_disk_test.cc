// A disk that fills up and a disk whose sync fails: what a checkpoint can free is used first, then
// writes are refused with a clear error, nothing acknowledged is lost, and the store works again
// when the disk does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "integration/store_follower_run.h"
#include "integration/store_writer_run.h"
#include "store/sqlite_store.h"
#include "store/store_contract_fixture.h"
#include "support/eventually.h"
#include "support/temp_dir.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::Contains;

// A file system of a few megabytes, unmounted with the test.
class SmallDisk {
 public:
  SmallDisk() {
    std::filesystem::create_directory(path_);
    mounted_ = ::mount("tmpfs", path_.c_str(), "tmpfs", 0, "size=3m") == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool mounted() const { return mounted_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  TempDir dir_;
  std::string path_ = dir_.file("small");
  bool mounted_ = false;
};

TEST(StoreDisk, AFullDiskRefusesWritesUntilThereIsSpaceAgain) {
  if (geteuid() != 0) GTEST_SKIP() << "mounting a small disk needs root";
  const TempDir dir;
  const SmallDisk disk;
  if (!disk.mounted()) GTEST_SKIP() << "this machine does not let root mount a tmpfs";
  std::ofstream(disk.file("ballast")) << std::string(1 << 20, 'b');
  StoreWriterRun writer(disk.file("store.db"), dir.file("said"), "full");

  ASSERT_TRUE(
      eventually([&] { return writer.output().errors.contains("RESOURCE_EXHAUSTED"); }, 60s));
  const size_t before = writer.output().acknowledged.size();
  std::filesystem::remove(disk.file("ballast"));
  EXPECT_TRUE(eventually([&] { return writer.output().acknowledged.size() > before + 50; }, 60s));
  writer.process().kill();

  const WriterOutput said = writer.output();
  EXPECT_GT(before, 0u);
  EXPECT_THAT(said.errors, testing::ElementsAre("RESOURCE_EXHAUSTED"));
  std::filesystem::copy(disk.file("store.db"), dir.file("store.db"));
  std::filesystem::copy(disk.file("store.db-wal"), dir.file("store.db-wal"));
  EXPECT_THAT(lost_writes(dir.file("store.db"), said.acknowledged), testing::IsEmpty());
}

TEST(StoreDisk, AStoreKnowsThatItsDiskTakesNoWrites) {
  if (geteuid() != 0) GTEST_SKIP() << "mounting a small disk needs root";
  const SmallDisk disk;
  if (!disk.mounted()) GTEST_SKIP() << "this machine does not let root mount a tmpfs";
  std::ofstream(disk.file("ballast")) << std::string(1 << 20, 'b');
  boost::asio::io_context loop;
  const auto opened =
      store::SqliteStore::open(loop.get_executor(), {.path = disk.file("store.db")});
  ASSERT_TRUE(opened.ok()) << opened.status();
  int keys = 0;
  const auto write = [&] {
    std::vector<store::Operation> one(
        1, store::put("/key" + std::to_string(keys++), std::string(30'000, 'v')));
    return store::run(loop, (*opened)->commit(std::move(one))).status();
  };
  EXPECT_TRUE((*opened)->disk().ok());
  while (keys < 500 && write().ok()) {
  }
  EXPECT_TRUE(absl::IsResourceExhausted((*opened)->disk())) << (*opened)->disk();
  const Status copied = store::run(loop, (*opened)->back_up(disk.file("copy")));
  EXPECT_FALSE(copied.ok());
  EXPECT_FALSE(std::filesystem::exists(disk.file("copy")));
  EXPECT_FALSE(std::filesystem::exists(disk.file("copy.part"))) << "it gives back what it took";
  std::filesystem::remove(disk.file("ballast"));
  EXPECT_TRUE(write().ok());
  EXPECT_TRUE((*opened)->disk().ok());
}

TEST(StoreDisk, ALogThatFillsTheDiskIsGivenBackToIt) {
  if (geteuid() != 0) GTEST_SKIP() << "mounting a small disk needs root";
  const SmallDisk disk;
  if (!disk.mounted()) GTEST_SKIP() << "this machine does not let root mount a tmpfs";
  boost::asio::io_context loop;
  // One key written again and again with a short history: the file stays small, its log grows.
  const store::SqliteStoreOptions options{.path = disk.file("store.db"),
                                          .writer = {.history = 10, .compact_every = 5}};
  int refused = 0;
  for (const int writes : {50, 2000}) {  // the first open is for the file to reach its size
    const auto opened = store::SqliteStore::open(loop.get_executor(), options);
    ASSERT_TRUE(opened.ok()) << opened.status();
    for (int i = 0; i < writes; ++i) {
      std::vector<store::Operation> one(1, store::put("/key", std::string(3000, 'v')));
      refused += store::run(loop, (*opened)->commit(std::move(one))).ok() ? 0 : 1;
    }
  }

  EXPECT_EQ(refused, 0) << "of writes that come to several times the disk's size";
}

// Every sync from the `first` to the `last` fails.
std::vector<std::string> failing_syncs(int first, int last) {
  const std::string when = std::to_string(first) + ".." + std::to_string(last);
  return {"strace",
          "-f",
          "-qq",
          "-o",
          "/dev/null",
          "-e",
          "trace=fsync,fdatasync",
          "-e",
          "inject=fsync,fdatasync:error=EIO:when=" + when};
}

// Why strace cannot be used here; empty if it can.
std::string without_strace() {
  const ProgramResult probe = run_program({"strace", "-qq", "-o", "/dev/null", "true"}, 10s);
  return probe.exit_code == 0 ? "" : "strace cannot trace here: " + probe.output;
}

// The lock names the process under strace, which ends with it.
void kill_holder(const std::string& store, ChildProcess& strace) {
  pid_t pid = 0;
  std::ifstream(store + ".lock") >> pid;
  ASSERT_GT(pid, 1);
  ::kill(pid, SIGKILL);
  ASSERT_NE(strace.wait(20s), -1);
}

TEST(StoreDisk, AFailedSyncIsNeverAcknowledged) {
  const TempDir dir;
  if (const std::string why = without_strace(); !why.empty()) GTEST_SKIP() << why;
  StoreWriterRun writer(dir.file("store.db"), dir.file("said"), "sync", failing_syncs(40, 60));

  ASSERT_TRUE(eventually([&] { return writer.output().errors.contains("UNAVAILABLE"); }, 60s));
  const size_t before = writer.output().acknowledged.size();
  EXPECT_TRUE(eventually([&] { return writer.output().acknowledged.size() > before + 50; }, 60s));
  kill_holder(dir.file("store.db"), writer.process());

  const WriterOutput said = writer.output();
  EXPECT_THAT(said.errors, testing::ElementsAre("UNAVAILABLE"));
  EXPECT_THAT(lost_writes(dir.file("store.db"), said.acknowledged), testing::IsEmpty());
}

TEST(StoreDisk, AFollowersFailedSyncLeavesTheOldStateWhole) {
  if (const std::string why = without_strace(); !why.empty()) GTEST_SKIP() << why;
  // Among the pages of a copy, at its end, and among appends: each takes one sync.
  for (const int first : {12, 19, 45}) {
    const TempDir dir;
    StoreFollowerRun follower(dir.file("store.db"), dir.file("said"), 1,
                              failing_syncs(first, first + 10));

    ASSERT_TRUE(eventually([&] { return follower.output().errors.contains("UNAVAILABLE"); }, 60s));
    const size_t before = follower.output().acknowledgements;
    EXPECT_TRUE(eventually([&] { return follower.output().acknowledgements > before + 50; }, 60s));
    kill_holder(dir.file("store.db"), follower.process());

    const FollowerOutput said = follower.output();
    EXPECT_THAT(said.errors, testing::ElementsAre("UNAVAILABLE"));
    EXPECT_THAT(said.broken, testing::IsEmpty());
    EXPECT_EQ(fault_of_follower(dir.file("store.db"), said.acknowledged), "") << first;
  }
}

TEST(StoreDisk, AFollowersFullDiskLeavesTheOldStateWhole) {
  if (geteuid() != 0) GTEST_SKIP() << "mounting a small disk needs root";
  const TempDir dir;
  const SmallDisk disk;
  if (!disk.mounted()) GTEST_SKIP() << "this machine does not let root mount a tmpfs";
  std::ofstream(disk.file("ballast")) << std::string(1'900'000, 'b');
  StoreFollowerRun follower(disk.file("store.db"), dir.file("said"), 1);

  ASSERT_TRUE(
      eventually([&] { return follower.output().errors.contains("RESOURCE_EXHAUSTED"); }, 60s));
  const size_t before = follower.output().acknowledgements;
  std::filesystem::remove(disk.file("ballast"));
  EXPECT_TRUE(eventually([&] { return follower.output().acknowledgements > before + 20; }, 60s));
  follower.process().kill();

  const FollowerOutput said = follower.output();
  EXPECT_THAT(said.errors, testing::ElementsAre("RESOURCE_EXHAUSTED"));
  EXPECT_THAT(said.broken, testing::IsEmpty());
  std::filesystem::copy(disk.file("store.db"), dir.file("store.db"));
  std::filesystem::copy(disk.file("store.db-wal"), dir.file("store.db-wal"));
  EXPECT_EQ(fault_of_follower(dir.file("store.db"), said.acknowledged), "");
}

}  // namespace
}  // namespace holdfast::test

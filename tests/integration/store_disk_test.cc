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

TEST(StoreDisk, AFailedSyncIsNeverAcknowledged) {
  const TempDir dir;
  const std::vector<std::string> strace = {"strace",
                                           "-f",
                                           "-qq",
                                           "-o",
                                           "/dev/null",
                                           "-e",
                                           "trace=fsync,fdatasync",
                                           "-e",
                                           "inject=fsync,fdatasync:error=EIO:when=40..60"};
  {
    const ProgramResult probe = run_program({"strace", "-qq", "-o", "/dev/null", "true"}, 10s);
    if (probe.exit_code != 0) GTEST_SKIP() << "strace cannot trace here: " << probe.output;
  }
  StoreWriterRun writer(dir.file("store.db"), dir.file("said"), "sync", strace);

  ASSERT_TRUE(eventually([&] { return writer.output().errors.contains("UNAVAILABLE"); }, 60s));
  const size_t before = writer.output().acknowledged.size();
  EXPECT_TRUE(eventually([&] { return writer.output().acknowledged.size() > before + 50; }, 60s));
  // The lock names the process under strace, which ends with it.
  pid_t pid = 0;
  std::ifstream(dir.file("store.db.lock")) >> pid;
  ASSERT_GT(pid, 1);
  ::kill(pid, SIGKILL);
  ASSERT_NE(writer.process().wait(20s), -1);

  const WriterOutput said = writer.output();
  EXPECT_THAT(said.errors, testing::ElementsAre("UNAVAILABLE"));
  EXPECT_THAT(lost_writes(dir.file("store.db"), said.acknowledged), testing::IsEmpty());
}

}  // namespace
}  // namespace holdfast::test

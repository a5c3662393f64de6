// The witness's record as a file: small, whole, and never believed if it is damaged.
#include "ha/record_loader.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/private_file.h"
#include "base/reason.h"
#include "support/file_modes.h"
#include "support/temp_dir.h"

namespace holdfast::ha {
namespace {

Record some_record() {
  return {.epoch = ~uint64_t{0} >> 1,
          .in_sync = Members::both(),
          .store_ids = {std::string(32, 'a'), std::string(32, 'b')}};
}

TEST(RecordFile, IsSmallAndComesOutAsItWentIn) {
  const std::string line = record_line(some_record());
  EXPECT_LT(line.size(), kMaxRecordBytes);
  const Result<Record> back = parse_record(line);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*back, some_record());
}

TEST(RecordFile, WithOneMemberHasNoIdOfTheOther) {
  const Record alone{.epoch = 2, .in_sync = Members::of(Member::Backup), .store_ids = {"", "b1"}};
  const Result<Record> back = parse_record(record_line(alone));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*back, alone);
}

TEST(RecordFile, EveryDamagedByteIsNoticed) {
  const std::string line = record_line(some_record());
  for (size_t i = 0; i < line.size(); ++i) {
    std::string damaged = line;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    const Result<Record> read = parse_record(damaged);
    EXPECT_EQ(split_reason(read.status()).code, "HF4204") << i;
    EXPECT_FALSE(parse_record(line.substr(0, i)).ok()) << i;
  }
  EXPECT_FALSE(parse_record(line + "x").ok());
  EXPECT_FALSE(parse_record(line + line).ok());
}

TEST(RecordFile, IsThereAfterItWasSaved) {
  const test::TempDir dir;
  const std::string path = dir.file("witness.record");
  const Result<Record> none = load_record(path);
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->epoch, 0U);
  ASSERT_TRUE(save_record(path, some_record()).ok());
  const Result<Record> back = load_record(path);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, some_record());
}

// A folder that cannot be opened cannot be synced: after a crash the old record may be back.
TEST(RecordFile, IsNotSavedUnlessItsFolderRemembersIt) {
  namespace fs = std::filesystem;
  const test::TempDir dir;
  const std::string folder = dir.file("closed");
  const std::string path = folder + "/witness.record";
  fs::create_directory(folder);
  fs::permissions(folder, fs::perms::owner_write | fs::perms::owner_exec);
  const auto in_child = [&] {
    test::obey_file_modes();
    const bool saved = save_record(path, some_record()).ok();
    const bool settled = settle_record(path).ok();
    const bool others = write_private_file(folder + "/other", "as before").ok();
    std::_Exit(!saved && !settled && others && load_record(path).ok() ? 0 : 1);
  };
  EXPECT_EXIT(in_child(), testing::ExitedWithCode(0), "");
  fs::permissions(folder, fs::perms::owner_all);
  EXPECT_TRUE(settle_record(path).ok());
}

// What a half sends may be anything; what is kept can be read again.
TEST(RecordFile, WhatCouldNotBeReadAgainIsNotKept) {
  EXPECT_TRUE(check_record(some_record()).ok());
  const auto refused = [](const std::string& id) {
    Record record = some_record();
    record.store_id(Member::Backup) = id;
    return split_reason(check_record(record)).code == "HF4203";
  };
  EXPECT_FALSE(refused(std::string(64, 'b')));
  EXPECT_TRUE(refused(std::string(65, 'b')));
  EXPECT_TRUE(refused(std::string(256, 'b')));
  EXPECT_TRUE(refused("two words"));
  EXPECT_TRUE(refused("-")) << "which is how none is written";
}

TEST(RecordFile, ADamagedFileIsRefusedAndLeftAsItIs) {
  const test::TempDir dir;
  const std::string path = dir.file("witness.record");
  std::ofstream(path) << "holdfast-witness-1 4 3 a b 00\n";
  const Result<Record> read = load_record(path);
  EXPECT_EQ(split_reason(read.status()).code, "HF4204");
  EXPECT_NE(read.status().message().find(path), std::string::npos);
  EXPECT_FALSE(load_record(path).ok());
}

}  // namespace
}  // namespace holdfast::ha

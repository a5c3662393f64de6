#include "cache/copy_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/private_file.h"
#include "base/reason.h"
#include "resource/registry.h"
#include "support/temp_dir.h"

namespace holdfast::cache {
namespace {

using resource::Kind;

class CopyOnDisk : public testing::Test {
 protected:
  CopyPlace place() const {
    return {.folder = dir_.file("data"),
            .owner = {.schema = "1.0", .cluster = "demo", .node = "edge-1"},
            .limits = {}};
  }
  Status save() {
    return save_copy(place(), WallTime(std::chrono::seconds(9)),
                     {{.kind = Kind::Service, .revision = 4, .items = {&web_}}});
  }
  std::string file(std::string_view name) const {
    return dir_.file("data") + "/" + std::string(name);
  }
  static mode_t mode_of(const std::string& path) {
    struct stat facts{};
    ::stat(path.c_str(), &facts);
    return facts.st_mode & 07777;
  }

  test::TempDir dir_;
  v1::Resource web_ = resource::make_resource(Kind::Service, "web");
};

TEST_F(CopyOnDisk, IsReadBackByTheOneThatWroteIt) {
  ASSERT_TRUE(save().ok());

  const OpenedCopy copy = load_copy(place()).value();

  EXPECT_EQ(copy.saved, WallTime(std::chrono::seconds(9)));
  ASSERT_EQ(copy.kinds.size(), 1u);
  EXPECT_EQ(copy.kinds[0].items.at(0)->metadata().name(), "web");
}

TEST_F(CopyOnDisk, IsForItsOwnerOnly) {
  ASSERT_TRUE(save().ok());

  EXPECT_EQ(mode_of(file("cache.copy")), 0600u);
  EXPECT_EQ(mode_of(file("cache.key")), 0600u);
}

TEST_F(CopyOnDisk, TheSecretIsMadeOnceAndTheNonceEachTime) {
  ASSERT_TRUE(save().ok());
  const std::string key = read_small_file(file("cache.key")).value();
  const std::string first = read_small_file(file("cache.copy")).value();

  ASSERT_TRUE(save().ok());

  EXPECT_EQ(read_small_file(file("cache.key")).value(), key);
  EXPECT_EQ(key.size(), 32u);
  EXPECT_NE(read_small_file(file("cache.copy")).value(), first);
}

TEST_F(CopyOnDisk, ThereIsNoneAtFirst) {
  EXPECT_EQ(load_copy(place()).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(CopyOnDisk, WithoutItsSecretItIsOfNoUse) {
  ASSERT_TRUE(save().ok());
  std::filesystem::remove(file("cache.key"));

  const Status missing = load_copy(place()).status();
  ASSERT_TRUE(write_private_file(file("cache.key"), "short").ok());
  const Status damaged = load_copy(place()).status();
  ASSERT_TRUE(write_private_file(file("cache.key"), std::string(32, 'x')).ok());
  const Status another = load_copy(place()).status();

  EXPECT_EQ(split_reason(missing).code, "HF1254");
  EXPECT_THAT(missing.message(), testing::HasSubstr("there is no cache.key"));
  EXPECT_THAT(damaged.message(), testing::HasSubstr("cache.key has 5 bytes instead of 32"));
  EXPECT_EQ(split_reason(another).code, "HF1251");
}

TEST_F(CopyOnDisk, ADamagedSecretIsReplacedByTheNextSave) {
  ASSERT_TRUE(save().ok());
  ASSERT_TRUE(write_private_file(file("cache.key"), "short").ok());

  ASSERT_TRUE(save().ok());

  EXPECT_TRUE(load_copy(place()).ok());
}

TEST_F(CopyOnDisk, ALargeSecretIsReplacedByTheNextSave) {
  ASSERT_TRUE(save().ok());
  ASSERT_TRUE(write_private_file(file("cache.key"), std::string(33, 'x')).ok());

  ASSERT_TRUE(save().ok());

  EXPECT_TRUE(load_copy(place()).ok());
}

TEST_F(CopyOnDisk, ASecretThatCannotBeReadNowIsNotReplaced) {
  ASSERT_TRUE(save().ok());
  std::filesystem::rename(file("cache.key"), file("kept"));
  std::filesystem::create_symlink("cache.key", file("cache.key"));  // to itself

  const Status refused = save();

  EXPECT_EQ(split_reason(refused).code, "HF1255");
  std::filesystem::rename(file("kept"), file("cache.key"));
  EXPECT_TRUE(load_copy(place()).ok()) << "the copy before opens again";
}

TEST_F(CopyOnDisk, AnUnreadableFileIsAStatus) {
  std::filesystem::create_directories(file("cache.copy"));

  const Status status = load_copy(place()).status();

  EXPECT_FALSE(status.ok());
  EXPECT_EQ(split_reason(status).code, "HF1254");
}

TEST_F(CopyOnDisk, AFailedSaveKeepsTheCopyBefore) {
  ASSERT_TRUE(save().ok());
  CopyPlace small = place();
  small.limits.max_bytes = 20;
  const Status refused = save_copy(small, WallTime(), {});
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(load_copy(place()).ok());
}

TEST_F(CopyOnDisk, AFolderThatCannotBeMadeIsAStatus) {
  ASSERT_TRUE(write_private_file(dir_.file("data"), "a file where a folder should be").ok());

  const Status status = save();

  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(split_reason(status).code, "HF1255");
}

TEST_F(CopyOnDisk, APlaceWhereNothingCanBeMadeIsAStatus) {
  CopyPlace full = place();
  full.folder = "/proc/self";

  EXPECT_EQ(split_reason(save_copy(full, WallTime(), {})).code, "HF1255");
}

TEST_F(CopyOnDisk, APipeInPlaceOfAFileIsNotWaitedFor) {
  ASSERT_TRUE(save().ok());
  std::filesystem::remove(file("cache.copy"));
  ASSERT_EQ(::mkfifo(file("cache.copy").c_str(), 0600), 0);

  EXPECT_EQ(split_reason(load_copy(place()).status()).code, "HF1254");
}

TEST_F(CopyOnDisk, WhatAKilledProcessLeftIsRemovedByTheNextSave) {
  ASSERT_TRUE(save().ok());
  std::ofstream(file("cache.copy.Xa81bQ")) << "half";

  ASSERT_TRUE(save().ok());

  EXPECT_FALSE(std::filesystem::exists(file("cache.copy.Xa81bQ")));
  EXPECT_TRUE(load_copy(place()).ok());
}

}  // namespace
}  // namespace holdfast::cache

#include "node/fence_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/private_file.h"
#include "base/reason.h"
#include "support/file_modes.h"
#include "support/temp_dir.h"

namespace holdfast::node {
namespace {

using testing::HasSubstr;

class FenceTest : public testing::Test {
 protected:
  FenceService open(const std::string& cluster = "one") {
    const Result<rpc::KeptEpoch> kept = load_epoch(path_, cluster);
    EXPECT_TRUE(kept.ok()) << kept.status();
    return FenceService(path_, *kept);
  }

  test::TempDir folder_;
  std::string path_ = folder_.file("epoch");
};

TEST_F(FenceTest, WhatWasAdmittedOutlivesARestart) {
  {
    FenceService fence = open();
    EXPECT_TRUE(fence.admit(0).ok());
    EXPECT_TRUE(fence.admit(5).ok());
  }

  FenceService fence = open();

  EXPECT_EQ(fence.highest(), 5u);
  EXPECT_EQ(split_reason(fence.admit(3)).code, "HF4302");
  EXPECT_EQ(split_reason(fence.admit(0)).code, "HF4302");
  EXPECT_EQ(fence.refused(), 2u);
  EXPECT_FALSE(fence.last().ok());
  EXPECT_TRUE(fence.admit(5).ok());
  EXPECT_TRUE(fence.last().ok());
}

TEST_F(FenceTest, WithoutAPairThereIsNoFile) {
  FenceService fence = open();

  EXPECT_TRUE(fence.admit(0).ok());

  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(FenceTest, AnEpochThatCannotBeKeptIsNotActedOn) {
  FenceService fence = open();
  EXPECT_TRUE(fence.admit(1).ok());
  std::filesystem::remove_all(folder_.path());

  EXPECT_EQ(split_reason(fence.admit(2)).code, "HF4304");

  EXPECT_EQ(fence.highest(), 1u);
  EXPECT_TRUE(fence.admit(1).ok());
}

// It would be there until a crash: a folder that cannot be opened cannot be synced.
TEST_F(FenceTest, AnEpochThatItsFolderMayForgetIsNotActedOn) {
  using std::filesystem::perms;
  const auto in_child = [this] {
    FenceService fence = open();
    std::filesystem::permissions(folder_.path(), perms::owner_write | perms::owner_exec);
    test::obey_file_modes();
    const bool refused = split_reason(fence.admit(2)).code == "HF4304";
    std::_Exit(refused && fence.highest() == 0 ? 0 : 1);
  };

  EXPECT_EXIT(in_child(), testing::ExitedWithCode(0), "");

  std::filesystem::permissions(folder_.path(), perms::owner_all);
}

TEST_F(FenceTest, TheEpochsOfAnotherClusterSayNothing) {
  EXPECT_TRUE(open("one").admit(9).ok());

  EXPECT_EQ(open("two").highest(), 0u);
}

TEST_F(FenceTest, AFileThatCannotBeReadIsNoReasonToForgetWhatWasSeen) {
  ASSERT_TRUE(write_private_file(path_, "gone").ok());

  const Result<rpc::KeptEpoch> opened = load_epoch(path_, "one");

  EXPECT_EQ(split_reason(opened.status()).code, "HF4303");
  EXPECT_THAT(std::string(opened.status().message()), HasSubstr(path_));
}

}  // namespace
}  // namespace holdfast::node

// Profiles, and the private files they are made of.
#include "cli/profile.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/private_file.h"
#include "cli/session.h"
#include "support/temp_dir.h"

namespace holdfast::cli {
namespace {

constexpr const char* kKey = "-----BEGIN PRIVATE KEY-----\nk\n-----END PRIVATE KEY-----\n";
constexpr const char* kLeaf = "-----BEGIN CERTIFICATE-----\na\n-----END CERTIFICATE-----\n";

Profile profile_sample() {
  return {.server = "ctl:7443",
          .cluster = "prod",
          .user = "ann",
          .ca_pem = kLeaf,
          .private_key_pem = kKey,
          .certificate_pem = kLeaf};
}

unsigned mode_of(const std::string& path) {
  struct stat info{};
  EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 0777;
}

TEST(Profile, IsReadBackAsItWasWrittenAndIsForItsOwnerOnly) {
  const test::TempDir folder;
  const std::string profile_dir = folder.file("deep/er/holdfast");

  ASSERT_TRUE(save_profile(profile_dir, profile_sample()).ok());

  const Result<Profile> loaded = load_profile(profile_dir);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->server, "ctl:7443");
  EXPECT_EQ(loaded->cluster, "prod");
  EXPECT_EQ(loaded->user, "ann");
  EXPECT_EQ(loaded->private_key_pem, kKey);
  EXPECT_EQ(loaded->certificate_pem, kLeaf);
  EXPECT_EQ(mode_of(profile_dir), 0700U);
  EXPECT_EQ(mode_of(profile_dir + "/identity.pem"), 0600U);
  EXPECT_FALSE(loaded->open_to_others);
}

TEST(Profile, AKeyThatOthersMayReadIsAWarning) {
  const test::TempDir folder;
  ASSERT_TRUE(save_profile(folder.file("p"), profile_sample()).ok());
  ASSERT_EQ(::chmod((folder.file("p") + "/identity.pem").c_str(), 0644), 0);
  testing::internal::CaptureStderr();

  const auto found = find_controller({.profile_dir = folder.file("p")});

  EXPECT_TRUE(found);
  EXPECT_TRUE(testing::internal::GetCapturedStderr().contains("chmod 600"));
}

TEST(Profile, NoneIsNotFoundAndABrokenOneNamesItsFile) {
  const test::TempDir folder;
  EXPECT_TRUE(absl::IsNotFound(load_profile(folder.file("none")).status()));
  for (const char* part : {"ca.pem", "identity.pem"}) {
    ASSERT_TRUE(save_profile(folder.file("p"), profile_sample()).ok());
    std::filesystem::remove(folder.file("p") + "/" + part);
    const Status status = load_profile(folder.file("p")).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_TRUE(std::string(status.message()).contains(part)) << status;
  }
  for (const char* settings : {"- list", "server: [", "cluster: prod"}) {
    ASSERT_TRUE(save_profile(folder.file("p"), profile_sample()).ok());
    std::ofstream(folder.file("p") + "/profile.yaml") << settings;
    EXPECT_TRUE(absl::IsInvalidArgument(load_profile(folder.file("p")).status())) << settings;
  }
}

TEST(Profile, LoggingOutRemovesItAndTwiceIsNoError) {
  const test::TempDir folder;
  ASSERT_TRUE(save_profile(folder.file("p"), profile_sample()).ok());

  EXPECT_TRUE(remove_profile(folder.file("p")).value());
  EXPECT_FALSE(remove_profile(folder.file("p")).value());
  EXPECT_TRUE(absl::IsNotFound(load_profile(folder.file("p")).status()));
}

TEST(Profile, AnIdentityNeedsBothParts) {
  EXPECT_TRUE(split_identity(std::string(kKey) + kLeaf + kLeaf).ok());
  EXPECT_EQ(split_identity(std::string(kLeaf) + kKey)->private_key_pem, kKey);
  EXPECT_FALSE(split_identity(kKey).ok());
  EXPECT_FALSE(split_identity(kLeaf).ok());
  EXPECT_FALSE(split_identity("").ok());
}

TEST(PrivateFile, ReplacesAWholeFileAndLeavesNothingBeside) {
  const test::TempDir folder;
  std::ofstream(folder.file("f")) << "old, and readable by all";
  std::filesystem::permissions(folder.file("f"), std::filesystem::perms(0644));

  ASSERT_TRUE(write_private_file(folder.file("f"), "new").ok());

  EXPECT_EQ(read_small_file(folder.file("f")).value(), "new");
  EXPECT_EQ(mode_of(folder.file("f")), 0600U);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(PrivateFile, AFailureLeavesTheOldOneAndNamesThePath) {
  const test::TempDir folder;
  const Status status = write_private_file(folder.file("no/such/f"), "new");
  EXPECT_TRUE(std::string(status.message()).contains("no/such/f")) << status;
  std::ofstream(folder.file("big")) << std::string(kMaxPrivateFileBytes + 1, 'x');
  EXPECT_TRUE(absl::IsInvalidArgument(read_small_file(folder.file("big")).status()));
}

TEST(FindController, AFlagIsStrongerThanTheProfileAndTheProfileThanTheSocket) {
  const test::TempDir folder;
  Connection connection{.profile_dir = folder.file("p"), .default_server = "unix:/run/hf.sock"};
  EXPECT_EQ(find_controller(connection)->server, "unix:/run/hf.sock");
  ASSERT_TRUE(save_profile(folder.file("p"), profile_sample()).ok());

  const auto by_profile = find_controller(connection);
  EXPECT_EQ(by_profile->server, "ctl:7443");
  ASSERT_TRUE(by_profile->tls);
  EXPECT_EQ(by_profile->tls->server_name, "controller.holdfast");
  connection.server = "other:1";
  EXPECT_EQ(find_controller(connection)->server, "other:1");
  connection.server = "unix:/else.sock";
  EXPECT_FALSE(find_controller(connection)->tls);
}

TEST(FindController, TheNetworkNeedsAProfileThatCanBeUsed) {
  const test::TempDir folder;
  const Connection connection{.server = "ctl:1", .profile_dir = folder.file("p")};
  EXPECT_EQ(find_controller(connection).error().code, "HF5035");
  EXPECT_EQ(find_controller(connection).error().exit, Exit::BadProfile);

  ASSERT_TRUE(save_profile(folder.file("p"), profile_sample()).ok());
  std::ofstream(folder.file("p") + "/identity.pem") << "";
  EXPECT_EQ(find_controller(connection).error().code, "HF5036");
  EXPECT_EQ(find_controller(connection).error().exit, Exit::BadProfile);
}

}  // namespace
}  // namespace holdfast::cli

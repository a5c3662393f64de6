#include "inject/certificate_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "support/temp_dir.h"

namespace holdfast::inject {
namespace {

using Looked = CertificateLoader::Looked;
using testing::HasSubstr;

constexpr WallTime kEnd(std::chrono::milliseconds(1'800'000'000'000));

// A pair fits if both texts are the same.
struct Loaded : testing::Test {
  void write(const std::string& certificate, const std::string& key) {
    std::ofstream(folder.file("tls.crt")) << certificate;
    std::ofstream(folder.file("tls.key")) << key;
  }

  test::TempDir folder;
  std::string used{};
  CertificateLoader loader{{.certificate = folder.file("tls.crt"), .key = folder.file("tls.key")},
                           [this](const CertificateFiles& texts) -> Result<WallTime> {
                             if (texts.certificate != texts.key) {
                               return absl::InvalidArgumentError("the key is another one's");
                             }
                             used = texts.certificate;
                             return kEnd;
                           }};
};

TEST_F(Loaded, APairIsUsedOnceAndAgainWhenItChanges) {
  write("one", "one");

  EXPECT_EQ(loader.look(), Looked::Used);
  EXPECT_EQ(loader.look(), Looked::Same);
  EXPECT_EQ(used, "one");
  EXPECT_EQ(loader.ends(), kEnd);

  write("two", "two");
  EXPECT_EQ(loader.look(), Looked::Used);
  EXPECT_EQ(used, "two");
}

TEST_F(Loaded, AHalfWrittenPairKeepsTheOldOneAndShows) {
  write("one", "one");
  loader.look();

  write("two", "one");
  EXPECT_EQ(loader.look(), Looked::Refused);
  EXPECT_EQ(loader.look(), Looked::Same);

  EXPECT_EQ(used, "one");
  EXPECT_EQ(loader.ends(), kEnd);
  EXPECT_THAT(std::string(loader.problem().message()), HasSubstr("HF7152: "));
  EXPECT_THAT(std::string(loader.problem().message()), HasSubstr("the key is another one's"));

  write("two", "two");
  EXPECT_EQ(loader.look(), Looked::Used);
  EXPECT_TRUE(loader.problem().ok());
}

TEST_F(Loaded, APipeInPlaceOfAFileIsNotWaitedFor) {
  write("one", "one");
  loader.look();
  std::filesystem::remove(folder.file("tls.crt"));
  ASSERT_EQ(::mkfifo(folder.file("tls.crt").c_str(), 0600), 0);

  EXPECT_EQ(loader.look(), Looked::Refused);

  EXPECT_THAT(std::string(loader.problem().message()), HasSubstr("is not a file"));
  EXPECT_EQ(used, "one");
}

TEST_F(Loaded, EveryOtherWrongPairIsSaidOnce) {
  write("one", "two");
  EXPECT_EQ(loader.look(), Looked::Refused);
  write("one", "three");
  EXPECT_EQ(loader.look(), Looked::Refused);
  EXPECT_EQ(loader.ends(), std::nullopt);
}

TEST_F(Loaded, FilesThatAreGoneKeepTheOldPairAndComeBack) {
  write("one", "one");
  loader.look();

  std::filesystem::remove(folder.file("tls.key"));
  EXPECT_EQ(loader.look(), Looked::Refused);
  EXPECT_EQ(loader.look(), Looked::Same);
  EXPECT_THAT(std::string(loader.problem().message()), HasSubstr("HF7151: "));
  EXPECT_THAT(std::string(loader.problem().message()), HasSubstr("tls.key"));
  EXPECT_EQ(used, "one");

  write("one", "one");
  EXPECT_EQ(loader.look(), Looked::Used);
  EXPECT_TRUE(loader.problem().ok());
}

// As a kubelet does it: the folder of a Secret is swapped in one step.
TEST_F(Loaded, ASwappedFolderIsSeenThroughItsLink) {
  const std::filesystem::path at = folder.path();
  for (const char* version : {"1", "2"}) {
    std::filesystem::create_directory(at / version);
    std::ofstream(at / version / "tls.crt") << version;
    std::ofstream(at / version / "tls.key") << version;
  }
  std::filesystem::create_symlink("1", at / "data");
  std::filesystem::create_symlink("data/tls.crt", at / "tls.crt");
  std::filesystem::create_symlink("data/tls.key", at / "tls.key");
  EXPECT_EQ(loader.look(), Looked::Used);

  std::filesystem::create_symlink("2", at / "data_next");
  std::filesystem::rename(at / "data_next", at / "data");

  EXPECT_EQ(loader.look(), Looked::Used);
  EXPECT_EQ(used, "2");
}

}  // namespace
}  // namespace holdfast::inject

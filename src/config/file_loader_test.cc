#include "config/file_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "support/temp_dir.h"

namespace holdfast::config {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& path) {
  return std::string(
      gather({.file = path, .default_data_dir = "", .flags = {}}).status().message());
}

TEST(Gather, TakesTheFileTheEnvironmentAndTheMachine) {
  const test::TempDir dir;
  std::ofstream(dir.file("a.yaml")) << "log: {level: warn}\n";
  ::setenv("HOLDFAST_STORE_TYPE", "memory", 1);

  const auto sources = gather(
      {.file = dir.file("a.yaml"), .default_data_dir = "/d", .flags = {{"log.format", "json"}}});
  ::unsetenv("HOLDFAST_STORE_TYPE");

  ASSERT_TRUE(sources.ok()) << sources.status();
  const auto loaded = load(*sources);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->config.log.level, "warn");
  EXPECT_EQ(loaded->config.log.format, LogFormat::Json);
  EXPECT_EQ(loaded->config.store.type, StoreType::Memory);
  EXPECT_EQ(loaded->config.controller.data_dir, "/d");
  EXPECT_FALSE(loaded->config.controller.name.empty());
}

TEST(Gather, SaysWhyAFileCannotBeRead) {
  const test::TempDir dir;
  ASSERT_EQ(::mkfifo(dir.file("pipe").c_str(), 0600), 0);
  std::ofstream(dir.file("large")) << std::string(kMaxFileBytes + 1, '#');
  std::ofstream(dir.file("full")) << std::string(kMaxFileBytes, '#');

  EXPECT_THAT(refusal(dir.file("none")), HasSubstr("none cannot be read: No such file"));
  EXPECT_THAT(refusal(dir.path().string()), HasSubstr("not a regular file"));
  EXPECT_THAT(refusal(dir.file("pipe")), HasSubstr("not a regular file"));
  EXPECT_THAT(refusal("/dev/zero"), HasSubstr("HF6001: /dev/zero cannot be read"));
  EXPECT_THAT(refusal(dir.file("large")), HasSubstr("HF6003: "));
  EXPECT_EQ(refusal(dir.file("full")), "");
}

}  // namespace
}  // namespace holdfast::config

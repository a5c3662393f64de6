// Until when a half acknowledged alone, as a file.
#include "ha/alone_loader.h"

#include <gtest/gtest.h>

#include <fstream>

#include "support/temp_dir.h"

namespace holdfast::ha {
namespace {

TEST(AloneFile, ThatIsMissingMeansThatEverythingMayHaveBeenAcknowledged) {
  const test::TempDir folder;
  EXPECT_EQ(load_alone(folder.file("alone")), kAloneUnknown);
}

TEST(AloneFile, ComesOutAsItWentIn) {
  const test::TempDir folder;
  ASSERT_TRUE(save_alone(folder.file("alone"), 31).ok());
  EXPECT_EQ(load_alone(folder.file("alone")), 31U);
  ASSERT_TRUE(save_alone(folder.file("alone"), 33).ok());
  EXPECT_EQ(load_alone(folder.file("alone")), 33U);
}

TEST(AloneFile, ThatIsDamagedMeansThatEverythingMayHaveBeenAcknowledged) {
  const test::TempDir folder;
  for (const char* text : {"", "31", "x\n", "31 x\n", "-1\n"}) {
    std::ofstream(folder.file("alone"), std::ios::trunc) << text;
    EXPECT_EQ(load_alone(folder.file("alone")), kAloneUnknown) << text;
  }
}

}  // namespace
}  // namespace holdfast::ha

#include "inject/warning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::inject {
namespace {

using testing::ElementsAre;

std::vector<Warning> warnings(size_t count, const char* code) {
  std::vector<Warning> out;
  for (size_t i = 0; i < count; ++i) out.push_back({code, "pod " + std::to_string(i), "why"});
  return out;
}

std::vector<std::string> texts(const std::vector<Warning>& warnings) {
  std::vector<std::string> out;
  for (const Warning& warning : condensed(warnings)) out.push_back(to_text(warning));
  return out;
}

TEST(Warnings, HaveTheirCodeInFrontAndThePlaceIfThereIsOne) {
  EXPECT_EQ(to_text({"HF7120", "Pod \"a\"", "why"}), "HF7120: Pod \"a\": why");
  EXPECT_EQ(to_text({"HF7126", "", "why"}), "HF7126: why");
  EXPECT_EQ(without_code({"HF7126", "here", "why"}), "here: why");
}

TEST(Warnings, AFewOfAKindAreAllShown) {
  for (const size_t count : {0U, 1U, 3U, 4U}) {
    EXPECT_EQ(condensed(warnings(count, "HF7120")), warnings(count, "HF7120")) << count;
  }
}

TEST(Warnings, ManyOfAKindAreCountedAndOtherKindsAreStillShown) {
  std::vector<Warning> all = warnings(2000, "HF7120");
  all.push_back({"HF7125", "", "another"});
  all.push_back({"HF7120", "late", "why"});

  EXPECT_THAT(texts(all),
              ElementsAre("HF7120: pod 0: why", "HF7120: pod 1: why", "HF7120: pod 2: why",
                          "HF7120: and 1998 more like these", "HF7125: another"));
}

}  // namespace
}  // namespace holdfast::inject

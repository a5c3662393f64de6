// Every code that the tree can show has a row, and every row is whole.
#include "cli/reasons.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "support/paths.h"

namespace holdfast::cli {
namespace {

std::set<std::string> codes_in(const std::filesystem::path& file) {
  std::ifstream stream(file);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  const std::regex code("HF[0-9]{4}");
  std::set<std::string> codes;
  for (std::sregex_iterator it(text.begin(), text.end(), code), end; it != end; ++it) {
    codes.insert(it->str());
  }
  return codes;
}

bool is_product_source(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  const bool source = name.ends_with(".cc") || name.ends_with(".h");
  return source && !name.ends_with("_test.cc");
}

TEST(Reasons, EveryCodeInTheTreeHasARow) {
  size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(test::in_tree("src"))) {
    if (!is_product_source(entry.path())) continue;
    files += 1;
    for (const std::string& code : codes_in(entry.path())) {
      EXPECT_NE(find_reason(code), nullptr) << code << " in " << entry.path();
    }
  }
  EXPECT_GT(files, 100U);
}

TEST(Reasons, EveryRowIsInTheDocumentation) {
  const std::set<std::string> documented = codes_in(test::in_tree("docs/cli.md"));
  for (const ReasonInfo& reason : all_reasons()) {
    EXPECT_TRUE(documented.contains(std::string(reason.code))) << reason.code;
  }
}

TEST(Reasons, RowsAreWholeAndInOrder) {
  const std::vector<ReasonInfo> all = all_reasons();
  EXPECT_TRUE(std::ranges::is_sorted(all, {}, &ReasonInfo::code));
  EXPECT_EQ(std::ranges::adjacent_find(all, {}, &ReasonInfo::code), all.end());
  EXPECT_TRUE(std::ranges::is_sorted(tunnel_reasons(), {}, &ReasonInfo::code));
  for (const ReasonInfo& reason : tunnel_reasons()) EXPECT_TRUE(reason.code.starts_with("HF2"));
  EXPECT_TRUE(std::ranges::is_sorted(pair_reasons(), {}, &ReasonInfo::code));
  for (const ReasonInfo& reason : pair_reasons()) EXPECT_TRUE(reason.code.starts_with("HF4"));
  EXPECT_TRUE(std::ranges::is_sorted(probe_reasons(), {}, &ReasonInfo::code));
  for (const ReasonInfo& reason : probe_reasons()) EXPECT_TRUE(reason.code.starts_with("HF7"));
  for (const ReasonInfo& reason : track_reasons()) EXPECT_TRUE(reason.code.starts_with("HF8"));
  for (const ReasonInfo& reason : all) {
    EXPECT_FALSE(reason.title.empty()) << reason.code;
    EXPECT_TRUE(reason.meaning.ends_with('.')) << reason.code;
    EXPECT_FALSE(reason.next.empty()) << reason.code;
  }
}

TEST(Reasons, ACodeIsFoundInEverySpelling) {
  for (const char* spelling : {"HF5008", "hf5008", "5008"}) {
    ASSERT_NE(find_reason(spelling), nullptr) << spelling;
    EXPECT_EQ(find_reason(spelling)->code, "HF5008");
  }
  for (const char* unknown : {"", "HF", "HF9999", "HF50081", "5"}) {
    EXPECT_EQ(find_reason(unknown), nullptr) << unknown;
  }
}

TEST(Reasons, TheTextFitsATerminal) {
  for (const ReasonInfo& reason : all_reasons()) {
    const std::string text = to_text(reason);
    EXPECT_TRUE(text.starts_with(reason.code));
    for (size_t at = 0; at < text.size();) {
      const size_t end = text.find('\n', at);
      EXPECT_LE(end - at, 80U) << text;
      at = end + 1;
    }
  }
}

}  // namespace
}  // namespace holdfast::cli

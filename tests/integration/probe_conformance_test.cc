// The table of what is promised of probes (docs/probe-conformance.md) names tests that are there.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "support/paths.h"

namespace holdfast::test {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// "Suite.Name" of every match of a pattern with two groups.
std::set<std::string> names_in(const std::string& text, const std::regex& pattern) {
  std::set<std::string> out;
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match) {
    out.insert((*match)[1].str() + "." + (*match)[2].str());
  }
  return out;
}

std::set<std::string> tests_of_the_tree() {
  const std::regex test(R"(\nTEST(?:_F|_P)?\((\w+),\s*(\w+)\))");
  std::set<std::string> out;
  for (const char* folder : {"src/probe", "src/inject", "tests/integration", "tests/e2e"}) {
    for (const fs::directory_entry& file : fs::directory_iterator(fs::path(in_tree("")) / folder)) {
      if (file.path().string().ends_with("_test.cc")) out.merge(names_in(text_of(file), test));
    }
  }
  return out;
}

TEST(ProbeConformance, EveryNameIsATest) {
  const std::string table = text_of(fs::path(in_tree("")) / "docs/probe-conformance.md");
  const std::set<std::string> tests = tests_of_the_tree();
  const std::set<std::string> named = names_in(table, std::regex(R"(`([A-Z]\w+)\.([A-Z]\w+)`)"));

  EXPECT_GT(named.size(), 80U) << "the table was read";
  for (const std::string& name : named) EXPECT_TRUE(tests.contains(name)) << name;
}

}  // namespace
}  // namespace holdfast::test

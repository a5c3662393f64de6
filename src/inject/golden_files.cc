#include "inject/golden_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "inject/source_node.h"

namespace holdfast::inject {

namespace fs = std::filesystem;

std::vector<fs::path> golden_inputs(const std::string& folder) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().contains(".input.")) out.push_back(entry.path());
  }
  std::ranges::sort(out);
  return out;
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

ManifestOptions golden_options(const std::string& text) {
  ManifestOptions out;
  out.inject.image = "holdfast/holdfastd:test";
  if (text.starts_with("# option enabled=false\n")) out.inject.enabled = false;
  if (text.starts_with("# option port=0\n")) out.inject.port = 0;
  return out;
}

std::vector<boost::json::value> values_of(const std::string& text) {
  std::vector<boost::json::value> out;
  std::string document;
  std::istringstream in(text + "\n---\n");
  for (std::string line; std::getline(in, line);) {
    if (line != "---") {
      document += line + "\n";
      continue;
    }
    const Result<SourceNode> node = read_yaml_source(document);
    EXPECT_TRUE(node.ok()) << node.status();
    if (node.ok()) out.push_back(to_value(*node));
    document.clear();
  }
  return out;
}

}  // namespace holdfast::inject

// Every testdata/NAME.input.yaml (or .json) becomes NAME.golden.yaml, whose last lines are the
// warnings, or is refused as it says. HF_UPDATE_GOLDEN=1 writes the golden files anew.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "inject/manifest.h"
#include "inject/source_node.h"

namespace holdfast::inject {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::vector<fs::path> inputs() {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(HF_SOURCE_DIR "/src/inject/testdata")) {
    if (entry.path().filename().string().contains(".input.")) out.push_back(entry.path());
  }
  std::ranges::sort(out);
  return out;
}

ManifestOptions options_of(const std::string& text) {
  ManifestOptions out;
  out.inject.image = "holdfast/holdfastd:test";
  if (text.starts_with("# option enabled=false\n")) out.inject.enabled = false;
  if (text.starts_with("# option port=0\n")) out.inject.port = 0;
  return out;
}

std::string outcome(const Result<Manifest>& manifest) {
  if (!manifest.ok()) return fmt::format("refused: {}\n", std::string(manifest.status().message()));
  std::string out = manifest->text;
  for (const std::string& warning : manifest->warnings)
    out += fmt::format("# warning: {}\n", warning);
  return out;
}

class Golden : public testing::TestWithParam<fs::path> {};

TEST_P(Golden, IsTranslatedAsItsFileSays) {
  const std::string input = read(GetParam());
  std::string name = GetParam().string();
  name.replace(name.rfind(".input."), 7, ".golden.");

  const std::string got = outcome(translate_manifest(input, options_of(input)));

  if (std::getenv("HF_UPDATE_GOLDEN") != nullptr) std::ofstream(name, std::ios::binary) << got;
  EXPECT_EQ(got, read(name));
}

TEST_P(Golden, ASecondRunChangesNothing) {
  const std::string input = read(GetParam());
  const auto first = translate_manifest(input, options_of(input));
  if (!first.ok()) return;  // refused, as its golden file says

  const auto second = translate_manifest(first->text, options_of(input));

  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->changed, 0u);
  EXPECT_EQ(second->text, first->text);
}

// The values of all documents; the text of a Pod written anew differs in its layout.
std::vector<boost::json::value> values(const std::string& text) {
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

TEST_P(Golden, UndoneItIsWhatItWas) {
  const std::string input = read(GetParam());
  ManifestOptions options = options_of(input);
  const auto first = translate_manifest(input, options);
  if (!first.ok()) return;  // refused, as its golden file says

  options.undo = true;
  const auto back = translate_manifest(first->text, options);

  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(values(back->text), values(input)) << back->text;
  EXPECT_EQ(back->changed, first->changed);
}

INSTANTIATE_TEST_SUITE_P(Files, Golden, testing::ValuesIn(inputs()), [](const auto& one) {
  std::string name = one.param.stem().stem().string();
  std::erase_if(name, [](char c) { return c == '_' || c == '-'; });
  return name;
});

}  // namespace
}  // namespace holdfast::inject

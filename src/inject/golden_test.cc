// Every testdata/NAME.input.yaml (or .json) becomes NAME.golden.yaml, whose last lines are the
// warnings, or is refused as it says. HF_UPDATE_GOLDEN=1 writes the golden files anew.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "inject/golden_files.h"
#include "inject/manifest.h"
#include "support/paths.h"

namespace holdfast::inject {
namespace {

namespace fs = std::filesystem;

std::string outcome(const Result<Manifest>& manifest) {
  if (!manifest.ok()) return fmt::format("refused: {}\n", std::string(manifest.status().message()));
  std::string out = manifest->text;
  for (const Warning& warning : manifest->warnings) {
    out += fmt::format("# warning: {}\n", to_text(warning));
  }
  return out;
}

class Golden : public testing::TestWithParam<fs::path> {};

TEST_P(Golden, IsTranslatedAsItsFileSays) {
  const std::string input = read_file(GetParam());
  std::string name = GetParam().string();
  name.replace(name.rfind(".input."), 7, ".golden.");

  const std::string got = outcome(translate_manifest(input, golden_options(input)));

  if (std::getenv("HF_UPDATE_GOLDEN") != nullptr) std::ofstream(name, std::ios::binary) << got;
  EXPECT_EQ(got, read_file(name));
}

TEST_P(Golden, ASecondRunChangesNothing) {
  const std::string input = read_file(GetParam());
  const auto first = translate_manifest(input, golden_options(input));
  if (!first.ok()) return;  // refused, as its golden file says

  const auto second = translate_manifest(first->text, golden_options(input));

  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->changed, 0u);
  EXPECT_EQ(second->text, first->text);
}

// By values: the text of a Pod written anew differs in its layout.
TEST_P(Golden, UndoneItIsWhatItWas) {
  const std::string input = read_file(GetParam());
  ManifestOptions options = golden_options(input);
  const auto first = translate_manifest(input, options);
  if (!first.ok()) return;  // refused, as its golden file says

  options.undo = true;
  const auto back = translate_manifest(first->text, options);

  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(values_of(back->text), values_of(input)) << back->text;
  EXPECT_EQ(back->changed, first->changed);
}

TEST_P(Golden, IsInTheTableOfCases) {
  const std::string table = read_file(GetParam().parent_path() / "README.md");
  const std::string name = GetParam().stem().stem().string();
  EXPECT_TRUE(table.contains("`" + name + "`")) << name;
}

INSTANTIATE_TEST_SUITE_P(Files, Golden,
                         testing::ValuesIn(golden_inputs(test::in_tree("src/inject/testdata"))),
                         [](const auto& one) {
                           std::string name = one.param.stem().stem().string();
                           std::erase_if(name, [](char c) { return c == '_' || c == '-'; });
                           return name;
                         });

}  // namespace
}  // namespace holdfast::inject

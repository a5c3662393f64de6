#include "support/paths.h"

#include <filesystem>

#include "base/check.h"

namespace holdfast::test {
namespace {

namespace fs = std::filesystem;

std::string below(const fs::path& folder, std::string_view path) {
  return path.empty() ? folder.string() : (folder / path).string();
}

}  // namespace

std::string built(std::string_view program) {
  return below(fs::read_symlink("/proc/self/exe").parent_path(), program);
}

std::string in_tree(std::string_view path) {
  fs::path folder = built("");
  while (!fs::exists(folder / "CMakePresets.json")) {
    HF_CHECK(folder.has_relative_path(), "tests run from a build folder inside the source tree");
    folder = folder.parent_path();
  }
  return below(folder, path);
}

}  // namespace holdfast::test

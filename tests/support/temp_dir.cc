#include "support/temp_dir.h"

#include <stdlib.h>

#include <system_error>

#include "base/check.h"

namespace holdfast::test {

TempDir::TempDir() {
  std::string pattern = (std::filesystem::temp_directory_path() / "holdfast-test-XXXXXX").string();
  HF_CHECK(::mkdtemp(pattern.data()) != nullptr, "a temporary folder can be made");
  path_ = pattern;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace holdfast::test

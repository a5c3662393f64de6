// The translation of a file: several documents of YAML or JSON in, the same out. A document that
// needs no change is byte for byte what it was; in others only what changes is edited.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "inject/translate.h"

namespace holdfast::inject {

constexpr size_t kMaxManifestBytes = 16 * 1024 * 1024;
constexpr size_t kMaxDocumentBytes = 4 * 1024 * 1024;  // of YAML, whose parser needs much more

struct ManifestOptions {
  InjectOptions inject{};
  bool undo = false;
};

struct Manifest {
  std::string text;
  bool json = false;
  size_t changed = 0;  // documents
  std::vector<Warning> warnings{};
};

// Requires: check_options() accepts the options. kInvalidArgument with HF71xx and the place:
// nothing of the text is then to be used.
Result<Manifest> translate_manifest(std::string_view text, const ManifestOptions& options);

}  // namespace holdfast::inject

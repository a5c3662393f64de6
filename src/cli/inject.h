// `holdfast inject`: pods whose probes ask the probe handler, without a cluster or a controller.
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"
#include "inject/manifest.h"

namespace holdfast::cli {

struct InjectCommand {
  std::vector<std::string> files{};  // "-" is standard input
  inject::ManifestOptions manifest{};
  bool diff = false;  // print what would change instead
};

// The documents on stdout, warnings on stderr. If anything is wrong with any file, nothing is
// printed but that.
Exit inject_probes(const Console& console, const InjectCommand& command);

}  // namespace holdfast::cli

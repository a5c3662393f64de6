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
  bool diff = false;            // print what would change instead
  bool fail_on_warning = true;  // Exit::Warned if anything was warned of
};

// The documents on stdout, warnings on stderr, the first few of each kind. If anything is wrong
// with any file, nothing is printed but that.
Exit inject_probes(const Console& console, const InjectCommand& command);

}  // namespace holdfast::cli

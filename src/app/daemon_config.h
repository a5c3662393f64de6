// From the daemon's command line to its configuration: flags, the environment and the file.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/load.h"

namespace CLI {
class App;
}

namespace holdfast::app {

class DaemonConfig {
 public:
  // Requires: both outlive the parse.
  void add_options(CLI::App& daemon, CLI::App& controller);
  // Reads the file anew each time. kInvalidArgument with every problem, one per line.
  Result<config::Loaded> load() const;

 private:
  std::string file_;
  std::map<std::string, std::optional<std::string>> flags_;  // by dotted key
  std::map<std::string, std::vector<std::string>> lists_;
  std::vector<std::string> set_;
};

}  // namespace holdfast::app

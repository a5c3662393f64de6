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
  // Those of every role, and of each. Requires: they outlive the parse.
  void add_options(CLI::App& daemon);
  void add_role(CLI::App& command, config::Role role);
  // Those of the verbs of tracking, which look at an agent's keys.
  void add_tracking(CLI::App& command);
  // Reads the file anew each time. kInvalidArgument with every problem, one per line.
  Result<config::Loaded> load(config::Role role) const;

 private:
  std::string file_;
  std::map<std::string, std::optional<std::string>> flags_;  // by dotted key
  std::map<std::string, std::vector<std::string>> lists_;
  std::vector<std::string> set_;
};

}  // namespace holdfast::app

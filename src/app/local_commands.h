// The verbs of `holdfast` that need no controller: completion and config. They add themselves to
// the option parser, and run once it has parsed.
#pragma once

#include <CLI/App.hpp>
#include <optional>
#include <string>

#include "cli/config_command.h"

namespace holdfast::app {

class LocalCommands {
 public:
  explicit LocalCommands(CLI::App& app);

  // Nothing if another verb was given.
  std::optional<cli::Exit> run() const;

 private:
  CLI::App* completion_;
  CLI::App* validate_;
  CLI::App* show_;
  CLI::App* schema_;
  std::string shell_;
  cli::ConfigOptions config_;
};

}  // namespace holdfast::app

// `holdfastd track`: what is done as root so that the agent need not be. Loads and pins the
// kernel's programs, takes them out, says what keeps this machine from it, and starts programs
// where they are counted.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "app/daemon_config.h"
#include "config/config.h"

namespace holdfast::app {

class TrackVerbs {
 public:
  // Requires: both outlive it.
  TrackVerbs(CLI::App& daemon, DaemonConfig& sources);

  bool parsed() const { return track_->parsed(); }
  // The exit code; does not return if it has become another program.
  int run(const config::TrackingConfig& config) const;

 private:
  int load(const config::TrackingConfig& config) const;
  int unload(const config::TrackingConfig& config) const;
  int check(const config::TrackingConfig& config) const;
  int exec(const config::TrackingConfig& config) const;

  CLI::App* track_;
  CLI::App* load_;
  CLI::App* unload_;
  CLI::App* check_;
  std::string owner_;
  std::vector<std::string> command_;
};

}  // namespace holdfast::app

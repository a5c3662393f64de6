// `holdfast config …`: what the daemon would make of its configuration, without a daemon.
#pragma once

#include <functional>
#include <string>

#include "cli/errors.h"
#include "config/config.h"

namespace holdfast::cli {

struct ConfigOptions {
  std::string file;              // empty: the daemon's own
  std::string default_data_dir;  // as the daemon would choose it
  bool effective = false;        // show also what nobody has set
  bool with_source = false;
  config::Role role = config::Role::Controller;                 // whose keys are looked at
  std::function<Status(const config::HaConfig&)> pair_times{};  // as in config::Sources
};

// Every error and warning on stderr. Exit::BadInput if there is an error, or the file cannot be
// read.
Exit config_validate(const ConfigOptions& options);

// Each key with its value. 78 if the configuration is not a good one.
Exit config_show(const ConfigOptions& options);

// The JSON Schema.
Exit config_schema();

}  // namespace holdfast::cli

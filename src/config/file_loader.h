// Where the sources of a configuration come from on a real machine: a file, this process's
// environment, and what the machine is called.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/result.h"
#include "config/load.h"

namespace holdfast::config {

inline constexpr const char* kDefaultFile = "/etc/holdfast/holdfast.yaml";

struct Gathering {
  std::string file;              // empty: kDefaultFile if it is there, else none
  std::string default_data_dir;  // empty: there is no default
  std::map<std::string, std::string> flags;
  Role role = Role::Controller;
  std::function<Status(const HaConfig&)> pair_times{};  // as in Sources
};
// Fails with HF6001 if the file is not there, is not a regular file or cannot be read, HF6003 if it
// is too large.
Result<Sources> gather(Gathering gathering);

}  // namespace holdfast::config

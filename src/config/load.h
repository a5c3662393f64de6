// From the file, the environment and the flags to a configuration. Flags win over the environment,
// that over the file, that over the defaults. Everything that is wrong is found at once. Reading
// the file is the caller's: nothing here touches the machine.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "config/keys.h"
#include "config/problem.h"

namespace holdfast::config {

// A configuration file larger than this is refused.
inline constexpr size_t kMaxFileBytes = size_t{1} << 20;

struct Sources {
  std::string file_path;  // as shown in messages
  std::string file_text;
  // All of the process; variables that do not begin with HOLDFAST_ are not looked at.
  std::map<std::string, std::string> environment;
  // By dotted key: {"log.level", "debug"}. Lists with commas between.
  std::map<std::string, std::string> flags;
  // Defaults that depend on the machine: controller.name, controller.data_dir and node.data_dir.
  std::map<std::string, std::string> machine;
  // What the daemon runs as. Keys of other roles must be good values too, but what they mean
  // together, and which are missing, is not looked at.
  Role role = Role::Controller;
  // How the times of a pair must stand to each other, which the pair's own module says: an error
  // with its HF code. Both programs hand over the same one.
  std::function<Status(const HaConfig&)> pair_times{};
};

struct Setting {
  const Key* key = nullptr;
  Value value;
  Origin origin;
};

struct Loaded {
  Config config;
  std::vector<Setting> settings;  // one for each key, in the order of the table
  std::vector<Problem> warnings;
  Role role = Role::Controller;
};

// `loaded` counts only if no problem is an error; the warnings are among the problems too.
struct Checked {
  Loaded loaded;
  std::vector<Problem> problems;
};
Checked check(const Sources& sources);

// The same, with everything that is wrong as one kInvalidArgument of many lines.
Result<Loaded> load(const Sources& sources);

// "controller.listen   127.0.0.1:7443   default", one line for each key of the role; without
// `with_source` the third column is left out. Secrets are "(set)" or empty.
std::string effective_text(const Loaded& loaded, bool with_source);

// The keys of the role that differ, and of these the ones a running daemon cannot take over.
struct Changes {
  std::vector<std::string_view> live;
  std::vector<std::string_view> need_restart;
};
Changes changes(const Loaded& running, const Loaded& next);

}  // namespace holdfast::config

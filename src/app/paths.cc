#include "app/paths.h"

#include <unistd.h>

#include <cstdlib>

namespace holdfast::app {

std::string default_data_dir() {
  if (geteuid() == 0) return "/var/lib/holdfast";
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state != '\0') {
    return std::string(state) + "/holdfast";
  }
  const char* home = std::getenv("HOME");
  const bool at_home = home != nullptr && *home != '\0';
  return at_home ? std::string(home) + "/.local/state/holdfast" : std::string();
}

std::string default_server() {
  return "unix:" + default_data_dir() + "/holdfast.sock";
}

}  // namespace holdfast::app

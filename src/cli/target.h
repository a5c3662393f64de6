// What a command is about: a kind in any spelling, and names. "service/web", "service web" and
// "svc/web" are the same.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "cli/errors.h"
#include "resource/kind.h"

namespace holdfast::cli {

struct Target {
  resource::Kind kind;
  std::vector<std::string> names;  // the one after the slash first
};

// Exit::Usage for a kind there is not; Exit::BadInput for what cannot be a resource's name, and so
// need not be asked for.
std::expected<Target, Failure> parse_target(const std::string& kind,
                                            std::vector<std::string> names);

}  // namespace holdfast::cli

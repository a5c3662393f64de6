// The verbs that say how things are.
#pragma once

#include <string>

#include "cli/commands.h"
#include "cli/session.h"

namespace holdfast::cli {

struct StatusOptions {
  bool wait = false;  // until it is healthy
  Duration timeout = std::chrono::seconds(10);
  Output output = Output::Table;
};
Exit status(const Session& session, const StatusOptions& options);

enum class CheckOutput { Table, Short, Json };
struct CheckOptions {
  std::string only{};  // a category
  bool fail_on_warning = false;
  CheckOutput output = CheckOutput::Table;
};
// Goes on after a failure. Works without a controller: that is one of the failures.
Exit check(const Console& console, const Connection& connection, const CheckOptions& options);

// "holdfast 0.1.0", and the controller's.
Exit server_version(const Session& session);

Exit explain_code(const Console& console, const std::string& code);

}  // namespace holdfast::cli

// How a command fails: one stable code, what went wrong, what to do next, and the exit status.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace holdfast::cli {

// Documented in docs/cli.md; part of the contract with scripts.
enum class Exit : int {
  Ok = 0,
  Failed = 1,
  Warned = 2,
  Usage = 64,
  BadInput = 65,
  NoController = 69,
  TimedOut = 75,
  NotPermitted = 77,
  BadProfile = 78,
  Interrupted = 130,
};

struct Failure {
  Exit exit = Exit::Failed;
  std::string code{};  // "HF1001"
  std::string message{};
  std::string next{};  // what to do; may be empty
};

// What a status means to a person. `answered`: the controller at `server` was reached, so the
// failure is its own. A code that the controller sent stays.
struct Asked {
  std::string_view server;
  bool answered = false;
};
Failure explain(const Status& status, const Asked& asked);

// "error HF1001: ...\n  next: ...\n"
std::string to_text(const Failure& failure);
// {"error":{"code":"HF1001","message":"...","next":"..."}} and a line end.
std::string to_json(const Failure& failure);

// As text on stderr. Verbs of a session use its console, which knows the form that was asked for.
Exit report(const Failure& failure);

}  // namespace holdfast::cli

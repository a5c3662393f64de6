// What is wrong with a configuration, and where: shown as a compiler would.
//
//   holdfast.yaml:5:3: error HF6004: unknown key "zonee" in controller; did you mean "zone"?
//       5 |   zonee: a
//         |   ^~~~~
//   env HOLDFAST_LOG_LEVEL: error HF6010: log.level: "loud" is not one of its words; use …
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "resource/node.h"

namespace holdfast::config {

// Where a value came from, in rising precedence.
enum class From : uint8_t { Default, File, Environment, Flag };

struct Origin {
  From from = From::Default;
  std::string name;         // the file, the variable or the key of the flag
  resource::Position at{};  // within it
};
// "/etc/holdfast/holdfast.yaml:9", "env HOLDFAST_LOG_LEVEL", "flag", "default".
std::string origin_text(const Origin& origin);

enum class Severity : uint8_t { Error, Warning };

// HF6010: a value that its key does not take.
inline constexpr int kBadValue = 6010;

struct Problem {
  Severity severity = Severity::Error;
  int code = 0;  // 6004 for HF6004
  Origin origin;
  std::string message;
};

// Ends with a line end. `file_text` is what the file of its origin holds.
std::string problem_text(const Problem& problem, std::string_view file_text);
// All of them, and "2 errors, 1 warning" unless there is only one.
std::string problems_text(std::span<const Problem> problems, std::string_view file_text);

bool has_error(std::span<const Problem> problems);

}  // namespace holdfast::config

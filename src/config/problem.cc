#include "config/problem.h"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::config {
namespace {

std::string place(const Origin& origin) {
  switch (origin.from) {
    case From::Default:
      return "default";
    case From::File:
      return fmt::format("{}:{}:{}", origin.name, origin.at.line, origin.at.column);
    case From::Environment:
      return fmt::format("env {}", origin.name);
    case From::Flag:
      return fmt::format("flag {}", origin.name);
  }
  return "";
}

std::string counted(size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

std::string origin_text(const Origin& origin) {
  if (origin.from == From::File) return fmt::format("{}:{}", origin.name, origin.at.line);
  return origin.from == From::Flag ? "flag" : place(origin);
}

std::string problem_text(const Problem& problem, std::string_view file_text) {
  const bool in_file = problem.origin.from == From::File;
  return fmt::format("{}: {} HF{}: {}\n{}", place(problem.origin),
                     problem.severity == Severity::Error ? "error" : "warning", problem.code,
                     problem.message,
                     in_file ? resource::source_excerpt(file_text, problem.origin.at) : "");
}

std::string problems_text(std::span<const Problem> problems, std::string_view file_text) {
  std::string out;
  for (const Problem& problem : problems) out += problem_text(problem, file_text);
  const auto errors = static_cast<size_t>(
      std::ranges::count(problems, Severity::Error, [](const Problem& p) { return p.severity; }));
  const size_t warnings = problems.size() - errors;
  if (problems.size() < 2) return out;
  if (errors > 0) out += counted(errors, "error");
  if (errors > 0 && warnings > 0) out += ", ";
  if (warnings > 0) out += counted(warnings, "warning");
  return out + "\n";
}

bool has_error(std::span<const Problem> problems) {
  return std::ranges::any_of(
      problems, [](const Problem& problem) { return problem.severity == Severity::Error; });
}

}  // namespace holdfast::config

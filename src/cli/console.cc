#include "cli/console.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

#include "cli/output.h"

namespace holdfast::cli {
namespace {

struct Look {
  std::string_view sign;
  std::string_view word;
  std::string_view colour;  // of ANSI terminals
};

// In the order of Verdict.
constexpr std::array<Look, 4> kLooks = {
    {{"√", "ok  ", "32"}, {"‼", "warn", "33"}, {"×", "FAIL", "31"}, {"-", "skip", "2"}}};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

const Look& look(Verdict verdict) {
  return kLooks.at(static_cast<size_t>(verdict));
}

}  // namespace

bool is_utf8_locale(std::string_view name) {
  std::string lower;
  for (const char c : name) {
    if (c != '-') lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return lower.contains("utf8");
}

Surroundings surroundings() {
  std::string locale = variable("LC_ALL");
  if (locale.empty()) locale = variable("LC_CTYPE");
  if (locale.empty()) locale = variable("LANG");
  return {.terminal = ::isatty(STDOUT_FILENO) == 1,
          .no_colour = !variable("NO_COLOR").empty(),
          .dumb = variable("TERM") == "dumb",
          .utf8 = is_utf8_locale(locale)};
}

Console::Console(Colour colour, bool json_errors, const Surroundings& around)
    : terminal_(around.terminal),
      colour_(colour == Colour::Always ||
              (colour == Colour::Auto && around.terminal && !around.no_colour && !around.dumb)),
      signs_(around.terminal && around.utf8),
      json_errors_(json_errors) {}

std::string Console::sign(Verdict verdict) const {
  return painted(verdict, signs_ ? look(verdict).sign : look(verdict).word);
}

std::string Console::painted(Verdict verdict, std::string_view text) const {
  if (!colour_) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", look(verdict).colour, text);
}

Exit Console::report(const Failure& failure) const {
  print_err(json_errors_ ? to_json(failure) : to_text(failure));
  return failure.exit;
}

}  // namespace holdfast::cli

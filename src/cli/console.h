// How this run talks to its user: colour and signs only where they can be seen, errors in the form
// that was asked for.
#pragma once

#include <string>
#include <string_view>

#include "cli/errors.h"
#include "cli/table.h"

namespace holdfast::cli {

enum class Colour { Auto, Always, Never };
enum class Verdict { Passed, Warning, Failed, Skipped };

// What is known of the terminal and of the environment.
struct Surroundings {
  bool terminal = false;   // stdout is one
  bool no_colour = false;  // NO_COLOR is set and not empty
  bool dumb = false;       // TERM is "dumb"
  bool utf8 = false;       // the locale's characters
};
Surroundings surroundings();
// "de_DE.UTF-8", "C.utf8": what LC_ALL, LC_CTYPE or LANG say.
bool is_utf8_locale(std::string_view name);

class Console {
 public:
  Console() = default;
  Console(Colour colour, bool json_errors, const Surroundings& around);

  // "√", "‼", "×" or "-"; "ok", "warn", "FAIL", "skip" where those cannot be shown.
  std::string sign(Verdict verdict) const;
  // Text in the verdict's colour, if there is colour.
  std::string painted(Verdict verdict, std::string_view text) const;
  // How long texts at the end of a row are shown: whole, unless a terminal would wrap them.
  LastColumn last_column() const { return terminal_ ? LastColumn::Cut : LastColumn::Whole; }
  // On stderr.
  Exit report(const Failure& failure) const;

 private:
  bool terminal_ = false;
  bool colour_ = false;
  bool signs_ = false;
  bool json_errors_ = false;
};

}  // namespace holdfast::cli

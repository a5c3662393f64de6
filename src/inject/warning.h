// What the translation could not do, or did otherwise than somebody might think: a code, where, and
// why. A file of two thousand like pods has as many like warnings, so only the first of a kind are
// shown.
#pragma once

#include <string>
#include <vector>

namespace holdfast::inject {

struct Warning {
  std::string code;   // "HF7120"
  std::string place;  // `Pod "web": container "a", livenessProbe`; may be empty
  std::string text;   // why, and what became of it

  bool operator==(const Warning&) const = default;
};

// `HF7120: Pod "web": container "a", livenessProbe: a command is run ...`
std::string to_text(const Warning& warning);
// "place: text", without the code.
std::string without_code(const Warning& warning);

// So many of each code are shown.
inline constexpr size_t kShownOfAKind = 3;

// The first of each code, in their order, and behind the last of them how many more there are.
std::vector<Warning> condensed(const std::vector<Warning>& warnings);

}  // namespace holdfast::inject

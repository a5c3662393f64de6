// Completion in the shell. The scripts are short: they ask `holdfast complete WORD…` for candidates
// on each key press, so that every shell offers the same, and what it offers is what is there.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_tree.h"

namespace holdfast::cli {

struct Candidates {
  struct Word {
    std::string text;
    std::string help;
  };
  std::vector<Word> words;
  bool files = false;
  // Names of this kind complete the word, each after `name_prefix`: live, from the controller.
  std::string names_of;
  std::string name_prefix;
};

// What may stand where the last of `words` is being typed; `words` are those after the program's
// name. `kinds` are the spellings of kinds to offer.
Candidates complete(const CommandTree& tree, std::span<const std::string> words,
                    std::span<const std::string> kinds);

// As the scripts read it: "word<TAB>help" lines, ":files", ":names KIND PREFIX".
std::string to_text(const Candidates& candidates);

// The script for "bash", "zsh" or "fish"; empty for another shell.
std::string completion_script(std::string_view shell);

}  // namespace holdfast::cli

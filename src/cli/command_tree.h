// A program's commands and options as plain values: what completion and manual pages are made
// from. app/command_tree.h makes it from the option parser, so that neither can disagree with it.
#pragma once

#include <string>
#include <vector>

namespace holdfast::cli {

struct CommandOption {
  std::vector<std::string> names;  // "-f", "--file"; empty for an argument without a name
  std::string value;               // what stands for its value, as "FILE"; empty for a flag
  std::string help;
  std::vector<std::string> choices;  // every value there is, if they are few
  std::string environment;           // the variable that sets it, if there is one
  bool repeats = false;
};

struct CommandTree {
  std::string name;
  std::string summary;  // one line
  std::string details;  // examples, exit status; may be many lines
  std::vector<CommandOption> options;
  std::vector<CommandOption> arguments;  // in their order
  std::vector<CommandTree> subcommands;
};

// Null if there is none.
const CommandTree* find_subcommand(const CommandTree& tree, const std::string& name);
const CommandOption* find_option(const CommandTree& tree, const std::string& name);

}  // namespace holdfast::cli

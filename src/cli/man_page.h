// Manual pages in roff, made from what the programs know about themselves.
#pragma once

#include <string>
#include <string_view>

#include "cli/command_tree.h"

namespace holdfast::cli {

struct ManPage {
  int section = 1;
  std::string_view version;   // "0.1.0"
  std::string_view see_also;  // "holdfastd(8), holdfast.yaml(5)"
};

// Every command and option of a program.
std::string command_page(const CommandTree& tree, const ManPage& page);

// holdfast.yaml(5): every key of the configuration.
std::string config_page(std::string_view version);

// `text` so that roff prints it as it is, whatever it holds.
std::string roff_text(std::string_view text);

}  // namespace holdfast::cli

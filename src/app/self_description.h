// What a program tells about itself when a shell or the package build asks, before its options are
// parsed and out of sight of --help:
//
//   holdfast complete WORD…          candidates for the last word, for the completion scripts
//   holdfast man-page [yaml]         its manual page; with "yaml" that of the configuration
#pragma once

#include <CLI/App.hpp>
#include <optional>
#include <span>
#include <string>

namespace holdfast::app {

struct Program {
  std::string name;  // "holdfast"
  int section = 1;   // of the manual
  std::string version;
};

// Exit status, if `arguments` (without the program's name) are one of the above.
std::optional<int> describe_itself(const CLI::App& app, const Program& program,
                                   std::span<char* const> arguments);

}  // namespace holdfast::app

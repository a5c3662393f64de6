// What the option parser knows, as plain values: the one place that turns a CLI::App into a
// cli::CommandTree, for completion and manual pages.
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "cli/command_tree.h"

namespace holdfast::app {

// Subcommands and options in an empty group are hidden, and left out.
cli::CommandTree command_tree(const CLI::App& app, const std::string& name);

}  // namespace holdfast::app

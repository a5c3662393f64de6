// What is said to arguments that the option parser does not understand.
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string_view>

#include "cli/errors.h"

namespace holdfast::app {

// Whether the arguments ask for JSON: then errors are JSON too, even about the arguments.
bool wants_json(std::span<const std::string_view> arguments);

// The parser's own words, or the command that was probably meant.
cli::Failure usage_failure(const CLI::App& app, const CLI::ParseError& error,
                           std::span<const std::string_view> arguments);

}  // namespace holdfast::app

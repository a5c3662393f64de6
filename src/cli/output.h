// What a command prints. Printing never fails on the spot: whether everything was written is known
// at the end, so that a full disk is a failure and not a short answer.
#pragma once

#include <string_view>

#include "cli/errors.h"

namespace holdfast::cli {

void print_out(std::string_view text);  // to stdout
void print_err(std::string_view text);  // to stderr

// Hands what was printed to the system; false if any of it could not be written.
bool flush_output();
// `exit`, or a reported Exit::Failed if the output is not whole.
Exit with_output_written(Exit exit);

}  // namespace holdfast::cli

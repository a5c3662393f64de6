// Where secrets may come from: a file, standard input, the environment, a prompt. Never from the
// arguments, which everyone on the machine can read.
#pragma once

#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/errors.h"

namespace holdfast::cli {

// HF5009 if an argument is, or holds, a join token, or is an option that would carry a secret.
std::optional<Failure> refuse_secrets(std::span<const std::string_view> arguments);

struct SecretSource {
  std::string file{};         // "-" is standard input
  std::string variable{};     // as HOLDFAST_TOKEN
  std::string prompt{};       // asked on the terminal, without echo; empty: never
  std::string confirm{};      // asked again, and the two must be the same; empty: not
  std::string file_option{};  // for the message: "--token-file"
};
// The first of: file, environment, prompt. Line ends around it are removed.
std::expected<std::string, Failure> read_secret(const SecretSource& source);

}  // namespace holdfast::cli

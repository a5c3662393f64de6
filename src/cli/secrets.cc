#include "cli/secrets.h"

#include <fmt/format.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>

#include "base/private_file.h"
#include "cli/output.h"
#include "cli/reasons.h"

namespace holdfast::cli {
namespace {

constexpr std::string_view kTokenStart = "hf_";
constexpr size_t kShortestToken = 16;
constexpr size_t kLongestSecret = 4096;

bool is_token_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Looks for the token's form anywhere, so that "--token=hf_..." and "x:hf_..." are found too.
bool holds_token(std::string_view argument) {
  for (size_t at = argument.find(kTokenStart); at != std::string_view::npos;
       at = argument.find(kTokenStart, at + 1)) {
    const std::string_view rest = argument.substr(at);
    const auto end = std::ranges::find_if_not(rest, is_token_char);
    const bool begins = at == 0 || !is_token_char(argument[at - 1]);
    if (begins && static_cast<size_t>(end - rest.begin()) >= kShortestToken) return true;
  }
  return false;
}

bool carries_secret(std::string_view argument) {
  const std::string_view option = argument.substr(0, argument.find('='));
  return option == "--token" || option == "--password" || option == "--secret";
}

Failure secret_refused(std::string_view what) {
  return {
      Exit::Usage, "HF5009",
      fmt::format("{} on the command line is visible to every user of this machine in `ps`", what),
      std::string(find_reason("HF5009")->next)};
}

// Turns the terminal's echo off for as long as it lives.
class Unseen {
 public:
  Unseen() : changed_(::tcgetattr(STDIN_FILENO, &before_) == 0) {
    if (!changed_) return;
    termios without = before_;
    without.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &without);
  }
  ~Unseen() {
    if (changed_) ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
  }
  Unseen(const Unseen&) = delete;
  Unseen& operator=(const Unseen&) = delete;

 private:
  termios before_{};
  bool changed_;
};

std::string ask_hidden(const std::string& prompt) {
  const Unseen unseen;
  print_err(prompt);
  std::string line;
  for (int c = std::getchar(); c != EOF && c != '\n' && line.size() < kLongestSecret;
       c = std::getchar()) {
    line += static_cast<char>(c);
  }
  print_err("\n");
  return line;
}

std::string trimmed(std::string text) {
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  return text;
}

}  // namespace

std::optional<Failure> refuse_secrets(std::span<const std::string_view> arguments) {
  for (const std::string_view argument : arguments) {
    if (holds_token(argument)) return secret_refused("a token");
    if (carries_secret(argument)) return secret_refused("a secret");
  }
  return std::nullopt;
}

std::expected<std::string, Failure> read_secret(const SecretSource& source) {
  const auto wrong = [](std::string_view code, std::string message) {
    return std::unexpected(Failure{Exit::BadInput, std::string(code), std::move(message), ""});
  };
  std::string secret;
  if (!source.file.empty()) {
    Result<std::string> text = read_small_file(source.file);
    if (!text.ok()) return wrong("HF6001", std::string(text.status().message()));
    secret = trimmed(*std::move(text));
  } else if (const char* value = std::getenv(source.variable.c_str()); value != nullptr) {
    secret = trimmed(value);
  } else if (!source.prompt.empty() && ::isatty(STDIN_FILENO) == 1) {
    secret = ask_hidden(source.prompt);
    if (!source.confirm.empty() && ask_hidden(source.confirm) != secret) {
      return wrong("HF5038", "the two are not the same");
    }
  } else {
    return std::unexpected(Failure{Exit::Usage, "HF5038", "no secret given",
                                   fmt::format("use {} FILE (- is standard input) or {}",
                                               source.file_option, source.variable)});
  }
  if (secret.empty()) return wrong("HF5038", "the secret is empty");
  if (secret.size() > kLongestSecret) return wrong("HF5038", "that is too long for a secret");
  return secret;
}

}  // namespace holdfast::cli

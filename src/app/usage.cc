#include "app/usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace holdfast::app {
namespace {

using Arguments = std::span<const std::string_view>;

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// Whether the option takes the argument after it.
bool takes_value(const CLI::App& app, std::string_view option) {
  const CLI::Option* known = app.get_option_no_throw(std::string(option));
  return known != nullptr && known->get_items_expected_min() > 0 && !option.contains('=');
}

struct Unknown {
  std::string before;  // "holdfast token"
  std::string_view word;
  std::vector<std::string_view> known;
};

// The first word that stands where a command belongs and is none.
std::optional<Unknown> unknown_command(const CLI::App& root, Arguments arguments) {
  const CLI::App* app = &root;
  std::string before = "holdfast";
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    if (word.starts_with('-')) {
      if (takes_value(root, word)) i += 1;
      continue;
    }
    const std::vector<const CLI::App*> commands = commands_of(*app);
    if (commands.empty()) return std::nullopt;
    const auto found = std::ranges::find(
        commands, word, [](const CLI::App* one) -> std::string_view { return one->get_name(); });
    if (found == commands.end()) {
      Unknown unknown{before, word, {}};
      for (const CLI::App* one : commands) unknown.known.emplace_back(one->get_name());
      return unknown;
    }
    app = *found;
    before += fmt::format(" {}", word);
  }
  return std::nullopt;
}

// The help of the deepest command that was named.
std::string help_of(const CLI::App& root) {
  std::string command = "holdfast";
  const CLI::App* app = &root;
  while (!app->get_subcommands().empty()) {
    app = app->get_subcommands().front();
    command += " " + app->get_name();
  }
  return fmt::format("`{} --help` shows what it takes", command);
}

}  // namespace

bool wants_json(Arguments arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "-ojson" || argument == "-o=json" || argument == "--output=json") return true;
    const bool option = argument == "-o" || argument == "--output";
    if (option && i + 1 < arguments.size() && arguments[i + 1] == "json") return true;
  }
  return false;
}

cli::Failure usage_failure(const CLI::App& app, const CLI::ParseError& error, Arguments arguments) {
  const std::optional<Unknown> unknown = unknown_command(app, arguments);
  if (!unknown) return {cli::Exit::Usage, "HF6010", error.what(), help_of(app)};
  const auto near = did_you_mean(unknown->word, unknown->known);
  return {cli::Exit::Usage, "HF6010",
          fmt::format("there is no command {}{}", in_quotes(unknown->word),
                      near ? fmt::format("; did you mean \"{}\"?", *near) : ""),
          fmt::format("`{} --help` lists them", unknown->before)};
}

}  // namespace holdfast::app

// The command line of `holdfast` as data: what every verb may be told, and which function it is.
// The option parser fills it in; main() runs the one verb that was named.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/identity_commands.h"
#include "cli/inject.h"
#include "cli/install.h"
#include "cli/load.h"
#include "cli/pair.h"
#include "cli/proxy_drain.h"
#include "cli/status_commands.h"
#include "cli/times.h"

namespace holdfast::app {

struct CommandLine {
  cli::Connection connection{};
  cli::Colour colour = cli::Colour::Auto;

  cli::ApplyOptions apply{};
  cli::GetOptions get{};
  std::vector<std::string> selector{};
  cli::DescribeOptions describe{};
  cli::DeleteOptions remove{};
  cli::WatchOptions watch{};
  cli::ConnectOptions connect{};
  cli::InitOptions init{};
  cli::TokenOptions token{};
  cli::GetOptions tokens{.kind = "token"};
  cli::DeleteOptions revoke{.kind = "token"};
  cli::JoinOptions join{};
  cli::LoginOptions login{};
  cli::UserOptions user{};
  cli::RotateOptions rotate{};
  cli::WhoAmIOptions whoami{};
  cli::StatusOptions status{};
  cli::CheckOptions check{};
  cli::DrainOptions drain{};
  cli::InjectCommand inject{};
  cli::PairStatusOptions pair{};
  cli::PromoteOptions promote{};
  cli::DivergenceOptions divergence{};
  cli::InstallOptions install{};
  cli::RouteOptions route{};
  std::string code{};            // for explain
  std::string version_server{};  // for version: whom to ask; empty: whom every verb asks

  struct Verb {
    const CLI::App* command;
    std::function<cli::Exit(const cli::Console&)> run;
  };
  std::vector<Verb> verbs{};

  // Runs `run` when `command` is what was named.
  void on(const CLI::App* command, std::function<cli::Exit(const cli::Console&)> run) {
    verbs.push_back({command, std::move(run)});
  }
  // The same for a verb that speaks to the controller.
  void on_session(const CLI::App* command, std::function<cli::Exit(const cli::Session&)> run);
  // Finds the controller, waits for it if told to, and runs.
  cli::Exit with_session(const cli::Console& console,
                         const std::function<cli::Exit(const cli::Session&)>& run) const;
};

// Everything: global options, verbs, help. `app` and `line` refer to each other afterwards.
void build(CLI::App& app, CommandLine& line);

void add_resource_verbs(CLI::App& app, CommandLine& line);
void add_identity_verbs(CLI::App& app, CommandLine& line);
void add_status_verbs(CLI::App& app, CommandLine& line);
void add_proxy_verbs(CLI::App& app, CommandLine& line);
void add_route_verbs(CLI::App& app, CommandLine& line);
void add_pair_verbs(CLI::App& app, CommandLine& line);
void add_inject_verbs(CLI::App& app, CommandLine& line);
void add_install_verbs(CLI::App& app, CommandLine& line);

// An option that is one of a few words.
template <typename Value>
CLI::Option* add_choice(CLI::App& command, const std::string& name, Value& value,
                        std::vector<std::pair<std::string, Value>> choices,
                        const std::string& help) {
  std::string words;
  for (const auto& [word, unused] : choices) words += (words.empty() ? "" : ",") + word;
  const auto known = [choices](const std::string& text) {
    return std::ranges::any_of(choices, [&](const auto& choice) { return choice.first == text; });
  };
  const auto keep = [choices, &value](const std::string& text) {
    for (const auto& [word, meant] : choices) {
      if (word == text) value = meant;
    }
  };
  const auto check = [known, words](const std::string& text) {
    return known(text) ? std::string() : in_quotes(text) + " is not one of " + words;
  };
  return command.add_option_function<std::string>(name, keep, help)
      ->check(CLI::Validator(check, "{" + words + "}"));
}

// "-o" with the forms of resources.
void add_output(CLI::App& command, cli::Output& output);
// "90", "1m30s": above zero, at most a year.
CLI::Option* add_duration(CLI::App& command, const std::string& name, Duration& duration,
                          const std::string& help);

}  // namespace holdfast::app

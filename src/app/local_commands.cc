#include "app/local_commands.h"

#include <CLI/CLI.hpp>

#include "app/command_line.h"
#include "app/pair_times.h"
#include "app/paths.h"
#include "cli/completion.h"
#include "cli/output.h"

namespace holdfast::app {

LocalCommands::LocalCommands(CLI::App& app) {
  completion_ = app.add_subcommand(
      "completion",
      "print a script that completes commands and names\n  source <(holdfast completion bash)\n"
      "  holdfast completion fish >~/.config/fish/completions/holdfast.fish");
  completion_->add_option("SHELL", shell_, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));

  CLI::App* config = app.add_subcommand("config", "look at a daemon's configuration");
  config->require_subcommand(1);
  validate_ = config->add_subcommand("validate",
                                     "say everything that is wrong with a configuration file\n"
                                     "  holdfast config validate -f /etc/holdfast/holdfast.yaml\n"
                                     "  holdfast config validate --role agent");
  show_ = config->add_subcommand(
      "show",
      "print the keys that are set\n  holdfast config show --effective --source\n"
      "  holdfast config show --effective --role proxy");
  show_->add_flag("--effective", config_.effective, "also the keys that have their default");
  show_->add_flag("--source", config_.with_source, "where each value comes from");
  for (CLI::App* command : {validate_, show_}) {
    command->add_option("-f,--file", config_.file,
                        "file to read instead of /etc/holdfast/holdfast.yaml");
    add_choice<config::Role>(*command, "--role", config_.role,
                             {{"controller", config::Role::Controller},
                              {"proxy", config::Role::Proxy},
                              {"agent", config::Role::Agent},
                              {"witness", config::Role::Witness},
                              {"probe", config::Role::Probe},
                              {"injector", config::Role::Injector}},
                             "whose keys to look at (default: a controller's)");
  }
  schema_ = config->add_subcommand("schema", "print the JSON Schema of the file, for editors");
  config_.default_data_dir = default_data_dir();
  config_.pair_times = check_pair_times;
}

std::optional<cli::Exit> LocalCommands::run() const {
  if (completion_->parsed()) {
    cli::print_out(cli::completion_script(shell_));
    return cli::Exit::Ok;
  }
  if (validate_->parsed()) return cli::config_validate(config_);
  if (show_->parsed()) return cli::config_show(config_);
  if (schema_->parsed()) return cli::config_schema();
  return std::nullopt;
}

}  // namespace holdfast::app

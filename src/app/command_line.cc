#include "app/command_line.h"

#include "app/paths.h"
#include "cli/profile.h"
#include "cli/times.h"

namespace holdfast::app {
namespace {

using cli::Output;

std::string check_duration(const std::string& text) {
  const Result<Duration> parsed = cli::parse_duration(text);
  return parsed.ok() ? "" : std::string(parsed.status().message());
}

// Nothing is what a script's unset variable leaves; the profile's controller is not what it meant.
std::string check_server(const std::string& text) {
  return text.empty() ? "it is empty; name a controller, or leave --server out" : "";
}

void add_global_options(CLI::App& app, CommandLine& line) {
  line.connection.default_server = default_server();
  line.connection.profile_dir = cli::default_profile_dir();
  app.add_option("--server", line.connection.server,
                 "controller to ask: unix:/PATH or HOST:PORT; up to 16 with commas between "
                 "them are tried in turn, all unix: or all hosts, and none if one is wrong "
                 "(default: the profile's, else " +
                     line.connection.default_server + ")")
      ->check(check_server)
      ->envname("HOLDFAST_SERVER");
  app.add_option("--profile", line.connection.profile_dir, "folder that `login` wrote")
      ->envname("HOLDFAST_PROFILE")
      ->capture_default_str();
  add_duration(app, "--timeout", line.connection.timeout,
               "how long to wait for one answer, as 10 or 1m30s (default: 10s)");
  add_duration(app, "--wait", line.connection.wait,
               "how long to wait for a controller that is not there yet (default: not)");
  add_choice<cli::Colour>(
      app, "--color", line.colour,
      {{"auto", cli::Colour::Auto}, {"always", cli::Colour::Always}, {"never", cli::Colour::Never}},
      "auto, always or never");
}

}  // namespace

void CommandLine::on_session(const CLI::App* command,
                             std::function<cli::Exit(const cli::Session&)> run) {
  on(command, [this, run = std::move(run)](const cli::Console& console) {
    return with_session(console, run);
  });
}

cli::Exit CommandLine::with_session(
    const cli::Console& console, const std::function<cli::Exit(const cli::Session&)>& run) const {
  auto options = cli::find_controller(connection);
  if (!options) return console.report(options.error());
  cli::Client client(*std::move(options));
  const cli::Session session{console, client};
  const Status connected = client.connect();
  if (!connected.ok()) return session.failed(connected);
  return run(session);
}

void build(CLI::App& app, CommandLine& line) {
  app.footer(
      "Exit status: 0 ok, 1 failed, 2 warnings, 64 usage, 65 bad input, 69 no controller,\n"
      "75 timed out, 77 not permitted, 78 bad profile, 130 interrupted.");
  app.require_subcommand(1);
  app.fallthrough();
  app.set_version_flag("--version", "holdfast " HF_VERSION);
  add_global_options(app, line);
  add_resource_verbs(app, line);
  add_identity_verbs(app, line);
  add_proxy_verbs(app, line);
  add_route_verbs(app, line);
  add_install_verbs(app, line);
  add_pair_verbs(app, line);
  add_inject_verbs(app, line);
  add_status_verbs(app, line);
}

void add_output(CLI::App& command, Output& output) {
  add_choice<Output>(command, "-o,--output", output,
                     {{"table", Output::Table},
                      {"wide", Output::Wide},
                      {"json", Output::Json},
                      {"yaml", Output::Yaml},
                      {"name", Output::Name}},
                     "table, wide, json, yaml or name");
}

CLI::Option* add_duration(CLI::App& command, const std::string& name, Duration& duration,
                          const std::string& help) {
  const auto keep = [&duration](const std::string& text) {
    duration = cli::parse_duration(text).value_or(duration);
  };
  return command.add_option_function<std::string>(name, keep, help)
      ->check(CLI::Validator(check_duration, "DURATION"))
      ->type_name("DURATION");
}

}  // namespace holdfast::app

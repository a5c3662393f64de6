// The verbs that say how things are: status, check, explain, version.
#include "app/command_line.h"
#include "cli/output.h"

namespace holdfast::app {
namespace {

using cli::CheckOutput;
using cli::Exit;

void add_status(CLI::App& app, CommandLine& line) {
  CLI::App* status =
      app.add_subcommand("status", "how the controller is, on one screen\n  holdfast status");
  status->add_flag("--wait", line.status.wait, "until it is healthy, at most --timeout");
  add_output(*status, line.status.output);
  line.on_session(status, [&line](const cli::Session& session) {
    line.status.timeout = line.connection.timeout;
    return cli::status(session, line.status);
  });
}

void add_check(CLI::App& app, CommandLine& line) {
  CLI::App* check = app.add_subcommand(
      "check", "look for trouble, and say what to do\n  holdfast check --fail-on warning");
  check->add_option("--only", line.check.only,
                    "connection, controller, identity, presence, reach or tracking");
  add_choice<bool>(*check, "--fail-on", line.check.fail_on_warning,
                   {{"failure", false}, {"warning", true}},
                   "failure, or warning: exit with 2 for warnings");
  add_choice<CheckOutput>(
      *check, "-o,--output", line.check.output,
      {{"table", CheckOutput::Table}, {"short", CheckOutput::Short}, {"json", CheckOutput::Json}},
      "table, short (problems only) or json");
  line.on(check, [&line](const cli::Console& console) {
    return cli::check(console, line.connection, line.check);
  });
}

void add_version(CLI::App& app, CommandLine& line) {
  CLI::App* version = app.add_subcommand("version", "print the version");
  const CLI::Option* server =
      version->add_option("--server", line.version_server, "the controller's too")->expected(0, 1);
  line.on(version, [&line, server](const cli::Console& console) {
    cli::print_out("holdfast " HF_VERSION "\n");
    if (server->count() == 0) return Exit::Ok;
    if (!line.version_server.empty()) line.connection.server = line.version_server;
    return line.with_session(console, cli::server_version);
  });
}

}  // namespace

void add_status_verbs(CLI::App& app, CommandLine& line) {
  add_status(app, line);
  add_check(app, line);
  CLI::App* explain =
      app.add_subcommand("explain", "what a reason code means\n  holdfast explain HF5008");
  explain->add_option("CODE", line.code, "as HF5008")->required();
  line.on(explain,
          [&line](const cli::Console& console) { return cli::explain_code(console, line.code); });
  add_version(app, line);
}

}  // namespace holdfast::app

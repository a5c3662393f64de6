// holdfast: the command line. Parses options, makes one client, runs one command.
#include <CLI/CLI.hpp>
#include <map>
#include <optional>
#include <span>

#include "app/local_commands.h"
#include "app/paths.h"
#include "app/self_description.h"
#include "base/bytes.h"
#include "cli/commands.h"
#include "cli/output.h"

namespace holdfast::app {
namespace {

using cli::Exit;
using cli::Output;

const std::map<std::string, Output> kOutputs = {{"table", Output::Table},
                                                {"wide", Output::Wide},
                                                {"json", Output::Json},
                                                {"yaml", Output::Yaml},
                                                {"name", Output::Name}};

struct Options {
  std::string server = default_server();
  double timeout_seconds = 10;
  double wait_seconds = 0;
  cli::ApplyOptions apply;
  cli::GetOptions get;
  cli::DeleteOptions remove;
  cli::WatchOptions watch;
  std::vector<std::string> selector;
};

void add_global_options(CLI::App& app, Options& options) {
  app.add_option("--server", options.server, "controller to ask: unix:/PATH or HOST:PORT")
      ->envname("HOLDFAST_SERVER")
      ->capture_default_str();
  app.add_option("--timeout", options.timeout_seconds, "seconds to wait for one answer")
      ->check(CLI::Range(0.001, 86400.0))
      ->capture_default_str();
  app.add_option("--wait", options.wait_seconds,
                 "seconds to wait for a controller that is not there yet")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str();
}

void add_output(CLI::App& command, Output& output) {
  command.add_option("-o,--output", output, "table, wide, json, yaml or name")
      ->transform(CLI::CheckedTransformer(kOutputs));
}

void add_commands(CLI::App& app, Options& options) {
  CLI::App* apply = app.add_subcommand(
      "apply", "create or update resources from YAML or JSON\n  holdfast apply -f service.yaml");
  apply->add_option("-f,--file", options.apply.files, "file to read, - for standard input")
      ->required();
  apply->add_flag("--dry-run", options.apply.dry_run, "say what would change, change nothing");

  CLI::App* get = app.add_subcommand(
      "get", "show resources\n  holdfast get services\n  holdfast get service/web -o yaml");
  get->add_option("KIND", options.get.kind, "as service, services, svc or service/web")->required();
  get->add_option("NAME", options.get.names, "only these");
  get->add_option("-l,--selector", options.selector, "only with this label, as key=value")
      ->delimiter(',');
  add_output(*get, options.get.output);

  CLI::App* remove =
      app.add_subcommand("delete", "remove resources\n  holdfast delete service web");
  remove->add_option("KIND", options.remove.kind, "as service or service/web")->required();
  remove->add_option("NAME", options.remove.names, "what to remove");

  CLI::App* watch =
      app.add_subcommand("watch", "print changes as they happen\n  holdfast watch services agents");
  watch->add_option("KIND", options.watch.kinds, "one or more, as service or service/web")
      ->required();
  watch->add_option("--after", options.watch.after_revision, "resume after this revision")
      ->check(CLI::NonNegativeNumber);
  watch->add_option("--count", options.watch.count, "stop after so many changes");
  watch->add_option("-o,--output", options.watch.output, "table, or json: one line per change")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, Output>{{"table", Output::Table}, {"json", Output::Json}}));

  app.add_subcommand("version", "print the version");
}

Status parse_selector(Options& options) {
  for (const std::string& pair : options.selector) {
    const size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0 || first_invalid_utf8(pair)) {
      return absl::InvalidArgumentError("--selector " + holdfast::quoted(pair) + ": use key=value");
    }
    options.get.labels[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  const bool named = !options.get.names.empty() || options.get.kind.contains('/');
  if (named && !options.get.labels.empty()) {
    return absl::InvalidArgumentError("--selector is for listings; leave out the names");
  }
  return absl::OkStatus();
}

Duration seconds(double count) {
  return Duration(static_cast<int64_t>(count * 1e9));
}

Exit run(const CLI::App& app, Options& options) {
  if (app.got_subcommand("version")) {
    cli::print_out("holdfast " HF_VERSION "\n");
    return Exit::Ok;
  }
  const Status selector = parse_selector(options);
  if (!selector.ok()) {
    return cli::report({Exit::Usage, "HF6010", std::string(selector.message()), ""});
  }
  cli::Client client({.server = options.server,
                      .timeout = seconds(options.timeout_seconds),
                      .wait = seconds(options.wait_seconds)});
  const Status connected = client.connect();
  if (!connected.ok()) return cli::report(cli::explain(connected, {.server = options.server}));
  if (app.got_subcommand("apply")) return cli::apply(client, options.apply);
  if (app.got_subcommand("get")) return cli::get(client, options.get);
  if (app.got_subcommand("delete")) return cli::remove(client, options.remove);
  return cli::watch(client, options.watch);
}

int main(int argc, char** argv) {
  CLI::App app{"holdfast shows and changes what a Holdfast controller knows."};
  app.footer(
      "Exit status: 0 ok, 1 failed, 64 usage, 65 bad input, 69 no controller, 75 timed out,\n"
      "77 not permitted, 130 interrupted.");
  app.require_subcommand(1);
  app.fallthrough();
  app.set_version_flag("--version", "holdfast " HF_VERSION);
  Options options;
  add_global_options(app, options);
  add_commands(app, options);
  const LocalCommands local(app);
  const std::span<char* const> words(argv + 1, argv + argc);
  if (const auto exit = describe_itself(app, {"holdfast", 1, HF_VERSION}, words)) return *exit;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(Exit::Usage);
  }
  const std::optional<Exit> done = local.run();
  return static_cast<int>(cli::with_output_written(done ? *done : run(app, options)));
}

}  // namespace
}  // namespace holdfast::app

int main(int argc, char** argv) {
  return holdfast::app::main(argc, argv);
}

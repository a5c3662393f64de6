// holdfast: the command line. Parses options, runs one verb.
#include <CLI/CLI.hpp>
#include <cstdlib>

#include "app/command_line.h"
#include "app/local_commands.h"
#include "app/self_description.h"
#include "app/usage.h"
#include "cli/output.h"
#include "cli/secrets.h"
#include "net/tls_context.h"

namespace holdfast::app {
namespace {

using cli::Exit;

// The deepest command that was named.
Exit run(const CommandLine& line, const cli::Console& console) {
  for (const CommandLine::Verb& verb : line.verbs) {
    if (verb.command->parsed()) return verb.run(console);
  }
  return console.report({Exit::Usage, "HF6010", "name a command", "see `holdfast --help`"});
}

Exit main(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + std::min(argc, 1), argv + argc);
  const bool json = wants_json(arguments);
  const cli::Surroundings around = cli::surroundings();
  const cli::Console before_options(cli::Colour::Never, json, around);
  if (const auto secret = cli::refuse_secrets(arguments)) return before_options.report(*secret);
  CLI::App app{"holdfast shows and changes what a Holdfast controller knows."};
  CommandLine line;
  build(app, line);
  const LocalCommands local(app);
  const std::span<char* const> words(argv + std::min(argc, 1), argv + argc);
  if (const auto exit = describe_itself(app, {"holdfast", 1, HF_VERSION}, words)) {
    return static_cast<Exit>(*exit);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    app.exit(help);
    return Exit::Ok;
  } catch (const CLI::ParseError& error) {
    return before_options.report(usage_failure(app, error, arguments));
  }
  if (const std::optional<Exit> done = local.run()) return *done;
  return run(line, cli::Console(line.colour, json, around));
}

}  // namespace
}  // namespace holdfast::app

int main(int argc, char** argv) {
  holdfast::net::keep_tls_until_exit();
  ::setenv("GRPC_VERBOSITY", "NONE", 0);  // what goes wrong is said in our own words
  return static_cast<int>(holdfast::cli::with_output_written(holdfast::app::main(argc, argv)));
}

// The verbs on a proxy: drain.
#include "app/command_line.h"

namespace holdfast::app {

void add_proxy_verbs(CLI::App& app, CommandLine& line) {
  CLI::App* proxy = app.add_subcommand("proxy", "take a proxy out of service");
  proxy->require_subcommand(1);
  CLI::App* drain = proxy->add_subcommand(
      "drain",
      "move a proxy's work elsewhere, cutting nobody off\n"
      "  holdfast proxy drain edge-1\n  holdfast proxy drain edge-1 --timeout 1m --no-wait\n"
      "  holdfast proxy drain edge-1 --node /var/lib/holdfast\n"
      "In this order: the proxy is announced as draining; its agents are told to move, which they\n"
      "do before they leave; it takes no new clients; what runs may finish until the timeout. It\n"
      "stays there, drained, until it is stopped; a restart undoes it, and nothing else does.\n"
      "SIGTERM does the same and then ends it; a second one cuts what still runs.\n"
      "The proxy is asked itself, at its public address with your certificate; whoever may delete\n"
      "proxies may (operator, admin). With --node it is asked by its socket instead.");
  drain->add_option("NAME", line.drain.name, "of the proxy")->required();
  drain
      ->add_option_function<std::string>(
          "--timeout",
          [&line](const std::string& text) {
            const Result<Duration> parsed = cli::parse_duration(text);
            if (parsed.ok()) line.drain.timeout = *parsed;
          },
          "how long running connections get (default: the proxy's drain_timeout, 5m)")
      ->check([](const std::string& text) {
        const Result<Duration> parsed = cli::parse_duration(text);
        return parsed.ok() ? std::string() : std::string(parsed.status().message());
      })
      ->type_name("DURATION");
  drain->add_flag("--now", line.drain.now, "cut what runs at once");
  drain->add_flag_callback(
      "--no-wait", [&line] { line.drain.wait = false; }, "return as soon as it has begun");
  drain->add_option("--proxy", line.drain.address,
                    "HOST:PORT of its public address (default: as the controllers know it)");
  drain->add_option("--node", line.drain.node, "its socket or its data folder")->type_name("PATH");
  line.on(drain, [&line](const cli::Console& console) {
    return cli::drain_proxy(console, line.connection, line.drain);
  });
}

}  // namespace holdfast::app

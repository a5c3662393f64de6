// The verbs on routing: explain.
#include "app/command_line.h"

namespace holdfast::app {

void add_route_verbs(CLI::App& app, CommandLine& line) {
  CLI::App* route = app.add_subcommand("route", "where connections go");
  route->require_subcommand(1);
  CLI::App* explain = route->add_subcommand(
      "explain",
      "where the next connection to a service goes, and why\n"
      "  holdfast route explain web --from zone-a\n"
      "The order of zones for clients of a proxy in that zone, or of an agent's kernel there; how\n"
      "many places each has, and how many of them those holders may take; what happens when all\n"
      "are taken. By what they reported: the last line says how long ago.");
  explain->add_option("SERVICE", line.route.service, "whose connections")->required();
  explain
      ->add_option("--from", line.route.from,
                   "the zone of the proxy where clients come in, or of the agent")
      ->required()
      ->type_name("ZONE");
  add_choice<cli::Output>(
      *explain, "-o,--output", line.route.output,
      {{"table", cli::Output::Table}, {"json", cli::Output::Json}, {"yaml", cli::Output::Yaml}},
      "table, json or yaml");
  line.on_session(explain, [&line](const cli::Session& session) {
    return cli::explain_route(session, line.route);
  });
}

}  // namespace holdfast::app

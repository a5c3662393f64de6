// The verbs on resources: apply, get, describe, delete, watch, connect.
#include "app/command_line.h"
#include "base/bytes.h"
#include "cli/caches.h"
#include "cli/tunnels.h"

namespace holdfast::app {
namespace {

using cli::Exit;
using cli::Output;

Status parse_selector(CommandLine& line) {
  for (const std::string& pair : line.selector) {
    const size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0 || first_invalid_utf8(pair)) {
      return absl::InvalidArgumentError("--selector " + in_quotes(pair) + ": use key=value");
    }
    line.get.labels[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  const bool named = !line.get.names.empty() || line.get.kind.contains('/');
  if (named && !line.get.labels.empty()) {
    return absl::InvalidArgumentError("--selector is for listings; leave out the names");
  }
  return absl::OkStatus();
}

void add_get(CLI::App& app, CommandLine& line) {
  CLI::App* get = app.add_subcommand(
      "get",
      "show resources, tunnels, load by service and zone, and what nodes have in their caches\n"
      "  holdfast get services\n  holdfast get service/web -o yaml\n"
      "  holdfast get agents\n  holdfast get tunnels edge-1\n"
      "  holdfast get tunnels --node /var/lib/holdfast\n"
      "  holdfast get caches agent/edge-1\n"
      "  holdfast get load web -o wide\n  holdfast get zones\n"
      "Of nodes, STATE is online, degraded with the code of the reason (holdfast explain CODE; -o "
      "wide\n"
      "has the sentence), draining, late or offline; TUNNELS is how many an agent has of those it\n"
      "wants.\n"
      "Of caches, SOURCE is cache, stale, upstream, or offline if the node is gone and the row\n"
      "is what it said last; AS OF is how long ago it said so.\n"
      "Of load, LEASED is what proxies and agents were told they may have of CAPACITY, and FREE "
      "what\n"
      "can still be dealt; -o wide shows who has what of what it may have, in brackets if that is\n"
      "its fixed share.");
  get->add_option("KIND", line.get.kind,
                  "as service, services, svc or service/web; or tunnels, caches, load or zones")
      ->required();
  get->add_option("NAME", line.get.names, "only these");
  get->add_option("-l,--selector", line.selector, "only with this label, as key=value")
      ->delimiter(',');
  get->add_flag("-w,--watch", line.get.watch, "go on with changes until interrupted");
  get->add_option("--count", line.get.count, "with --watch: stop after so many changes");
  get->add_option("--node", line.get.node,
                  "for tunnels and caches: ask this node itself, by its socket or its data folder")
      ->type_name("PATH")
      ->check([](const std::string& path) {
        return path.empty() ? std::string("--node: name its socket or its data folder") : "";
      });
  add_output(*get, line.get.output);
  line.on(get, [&line](const cli::Console& console) {
    const Status selector = parse_selector(line);
    if (!selector.ok()) {
      return console.report({Exit::Usage, "HF6010", std::string(selector.message()), ""});
    }
    if (!line.get.node.empty()) {
      return cli::is_tunnels(line.get.kind)
                 ? cli::get_node_tunnels(console, line.get, line.connection.timeout)
                 : cli::get_node_caches(console, line.get, line.connection.timeout);
    }
    return line.with_session(console, [&line](const cli::Session& session) {
      if (cli::is_tunnels(line.get.kind)) return cli::get_tunnels(session, line.get);
      if (cli::is_load(line.get.kind)) return cli::get_load(session, line.get);
      if (cli::is_zones(line.get.kind)) return cli::get_zones(session, line.get);
      return cli::is_caches(line.get.kind) ? cli::get_caches(session, line.get)
                                           : cli::get(session, line.get);
    });
  });
}

void add_describe(CLI::App& app, CommandLine& line) {
  CLI::App* describe = app.add_subcommand(
      "describe", "show resources in full, for people\n  holdfast describe service/web");
  describe->add_option("KIND", line.describe.kind, "as service or service/web")->required();
  describe->add_option("NAME", line.describe.names, "only these");
  line.on_session(describe, [&line](const cli::Session& session) {
    return cli::describe(session, line.describe);
  });
}

void add_watch(CLI::App& app, CommandLine& line) {
  CLI::App* watch =
      app.add_subcommand("watch", "print changes as they happen\n  holdfast watch services agents");
  watch->add_option("KIND", line.watch.kinds, "one or more, as service or service/web")->required();
  watch->add_option("--after", line.watch.after_revision, "resume after this revision")
      ->check(CLI::NonNegativeNumber);
  watch->add_option("--count", line.watch.count, "stop after so many changes");
  add_choice<Output>(*watch, "-o,--output", line.watch.output,
                     {{"table", Output::Table}, {"json", Output::Json}},
                     "table, or json: one line per change");
  line.on_session(watch,
                  [&line](const cli::Session& session) { return cli::watch(session, line.watch); });
}

void add_connect(CLI::App& app, CommandLine& line) {
  CLI::App* connect =
      app.add_subcommand("connect",
                         "reach a service through a proxy\n  holdfast connect web:80\n"
                         "  holdfast connect db --listen 127.0.0.1:5432\n"
                         "  holdfast connect --socks 127.0.0.1:1080\n"
                         "  ssh -o ProxyCommand='holdfast connect %h:%p' build-host\n"
                         "Without --listen or --socks it is standard input and output that are "
                         "connected. Proxies are\n"
                         "asked of the controllers, and remembered for when none of them answers.");
  connect->add_option("SERVICE", line.connect.target,
                      "and a port of it, by number or name: web:80, web:metrics");
  connect->add_option("--proxy", line.connect.proxies, "through these, as HOST:PORT")
      ->delimiter(',');
  connect->add_option("--listen", line.connect.listen,
                      "take connections here instead, as 127.0.0.1:5432; port 0: any");
  connect->add_option("--socks", line.connect.socks,
                      "be a SOCKS5 proxy here, where names of hosts are services");
  connect->add_flag("--allow-remote", line.connect.allow_remote,
                    "listen on an address that other machines reach: they act in your name");
  line.on(connect, [&line](const cli::Console& console) {
    return cli::connect(console, line.connection, line.connect);
  });
}

}  // namespace

void add_resource_verbs(CLI::App& app, CommandLine& line) {
  CLI::App* apply = app.add_subcommand(
      "apply", "create or update resources from YAML or JSON\n  holdfast apply -f service.yaml");
  apply->add_option("-f,--file", line.apply.files, "file to read, - for standard input")
      ->required();
  apply->add_flag("--dry-run", line.apply.dry_run, "say what would change, change nothing");
  line.on_session(apply,
                  [&line](const cli::Session& session) { return cli::apply(session, line.apply); });

  add_get(app, line);
  add_describe(app, line);

  CLI::App* remove =
      app.add_subcommand("delete", "remove resources\n  holdfast delete service web");
  remove->add_option("KIND", line.remove.kind, "as service or service/web")->required();
  remove->add_option("NAME", line.remove.names, "what to remove");
  line.on_session(
      remove, [&line](const cli::Session& session) { return cli::remove(session, line.remove); });

  add_watch(app, line);
  add_connect(app, line);
}

}  // namespace holdfast::app

#include "cli/tunnels.h"

#include <absl/strings/match.h>
#include <fmt/format.h>

#include <algorithm>

#include "cli/document.h"
#include "cli/listing.h"
#include "cli/node_socket.h"
#include "cli/output.h"
#include "resource/codec.h"

namespace holdfast::cli {
namespace {

Failure tunnels_usage(std::string message) {
  return {Exit::Usage, "HF6010", std::move(message), "see `holdfast get --help`"};
}

std::vector<std::string> tunnel_names(const GetOptions& options) {
  std::vector<std::string> names = options.names;
  const size_t slash = options.kind.find('/');
  if (slash != std::string::npos) names.insert(names.begin(), options.kind.substr(slash + 1));
  return names;
}

TunnelsText tunnel_text(const Console& console, const GetOptions& options) {
  return {.wide = options.output == Output::Wide,
          .last = console.last_column(),
          .now = SystemClock().wall_now()};
}

// "agent/edge-1", one line for each tunnel's agent, in the form that was asked for.
std::string as_document(const Document& document, Output output) {
  return output == Output::Yaml ? document.yaml() : document.json();
}

}  // namespace

bool is_tunnels(std::string_view kind) {
  const std::string word(kind.substr(0, kind.find('/')));
  return absl::EqualsIgnoreCase(word, "tunnels") || absl::EqualsIgnoreCase(word, "tunnel");
}

Exit get_tunnels(const Session& session, const GetOptions& options) {
  if (options.watch)
    return session.console.report(tunnels_usage("tunnels are listed, not watched"));
  const std::vector<std::string> names = tunnel_names(options);
  const Result<std::vector<v1::Resource>> agents =
      names.empty() ? fetch_all(session.client, resource::Kind::Agent, options.labels)
                    : fetch_named(session.client, resource::Kind::Agent, names);
  if (!agents.ok()) return session.failed(agents.status());
  switch (options.output) {
    case Output::Json:
      print_out(resource::list_to_json_pretty(*agents));
      return Exit::Ok;
    case Output::Yaml:
      print_out(resource::list_to_yaml(*agents));
      return Exit::Ok;
    case Output::Name:
      for (const v1::Resource& agent : *agents) {
        print_out(fmt::format("agent/{}\n", agent.metadata().name()));
      }
      return Exit::Ok;
    case Output::Table:
    case Output::Wide:
      break;
  }
  if (agents->empty()) {
    print_err("No agents found.\n");
    return Exit::Ok;
  }
  print_out(render_tunnels(*agents, tunnel_text(session.console, options)));
  return Exit::Ok;
}

Exit get_node_tunnels(const Console& console, const GetOptions& options, Duration timeout) {
  if (!tunnel_names(options).empty() || options.watch) {
    return console.report(
        tunnels_usage("--node asks one node for all its tunnels; leave out names"));
  }
  const Result<net::HttpAnswer> answer = ask_http(
      {.addresses = {socket_of(options.node)}, .timeout = timeout}, {.target = "/v1/tunnels"});
  v1::GetTunnelsResponse node;
  const Status read = answer.ok() ? read_answer(*answer, node) : answer.status();
  if (!read.ok()) return console.report(no_node(read));
  const bool table = options.output == Output::Table || options.output == Output::Wide;
  print_out(table ? render_tunnels(node, tunnel_text(console, options))
                  : as_document(Document("tunnels", node), options.output));
  return Exit::Ok;
}

}  // namespace holdfast::cli

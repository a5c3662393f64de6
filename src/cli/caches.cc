#include "cli/caches.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "cli/listing.h"
#include "cli/node_socket.h"
#include "cli/output.h"
#include "resource/registry.h"

namespace holdfast::cli {
namespace {

using Nodes = std::vector<NodeCaches>;

Failure caches_usage(std::string message) {
  return {Exit::Usage, "HF6010", std::move(message), "see `holdfast get --help`"};
}

// "edge-1" is either kind's.
bool is_named(const std::string& node, const std::string& name) {
  return node == name || (!name.contains('/') && node.substr(node.find('/') + 1) == name);
}

std::vector<std::string> names_of(const GetOptions& options) {
  std::vector<std::string> names = options.names;
  const size_t slash = options.kind.find('/');
  if (slash != std::string::npos) names.insert(names.begin(), options.kind.substr(slash + 1));
  return names;
}

Result<Nodes> fetch_nodes(const Session& session, const GetOptions& options) {
  Nodes nodes;
  for (const resource::Kind kind : {resource::Kind::Agent, resource::Kind::Proxy}) {
    TRY(const std::vector<v1::Resource> found, fetch_all(session.client, kind, options.labels));
    for (const v1::Resource& node : found) nodes.push_back(caches_of(node));
  }
  return nodes;
}

// In the order they were named; each must be there.
Result<Nodes> only(const Nodes& nodes, const std::vector<std::string>& names) {
  if (names.empty()) return nodes;
  Nodes out;
  for (const std::string& name : names) {
    const size_t before = out.size();
    std::ranges::copy_if(nodes, std::back_inserter(out),
                         [&](const auto& node) { return is_named(node.said.node(), name); });
    if (out.size() > before) continue;
    return absl::NotFoundError(fmt::format("no proxy or agent is called {}", in_quotes(name)));
  }
  return out;
}

WallTime wall_now() {
  return SystemClock().wall_now();
}

Result<v1::GetCachesResponse> ask_node(const std::string& socket, Duration timeout) {
  TRY(const net::HttpAnswer got,
      ask_http({.addresses = {socket}, .timeout = timeout}, {.target = "/v1/caches"}));
  if (got.status == 200) return parse_caches(got.body);
  return absl::UnavailableError(fmt::format("{}: it answers with status {}", socket, got.status));
}

}  // namespace

Exit get_caches(const Session& session, const GetOptions& options) {
  if (options.watch) return session.console.report(caches_usage("caches are listed, not watched"));
  const std::vector<std::string> names = names_of(options);
  Result<Nodes> nodes = fetch_nodes(session, options);
  if (nodes.ok()) nodes = only(*nodes, names);
  if (!nodes.ok()) return session.failed(nodes.status());
  const bool table = options.output == Output::Table || options.output == Output::Wide;
  const bool none =
      std::ranges::all_of(*nodes, [](const auto& n) { return n.said.caches().empty(); });
  if (table && none) {
    print_err("No caches found.\n");
    return Exit::Ok;
  }
  print_out(render_caches(*nodes, {.output = options.output,
                                   .single = names.size() == 1,
                                   .last = session.console.last_column(),
                                   .now = wall_now()}));
  return Exit::Ok;
}

Exit get_node_caches(const Console& console, const GetOptions& options, Duration timeout) {
  if (!is_caches(options.kind) || !names_of(options).empty() || options.watch) {
    return console.report(
        caches_usage("--node is for `get caches` and `get tunnels`, without names"));
  }
  const Result<v1::GetCachesResponse> node = ask_node(socket_of(options.node), timeout);
  if (!node.ok()) return console.report(no_node(node.status()));
  print_out(render_caches({{.said = *node}}, {.output = options.output,
                                              .single = true,
                                              .last = console.last_column(),
                                              .now = wall_now()}));
  return Exit::Ok;
}

}  // namespace holdfast::cli

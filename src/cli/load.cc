#include "cli/load.h"

#include <absl/strings/match.h>
#include <fmt/format.h>

#include "base/bytes.h"
#include "cli/document.h"
#include "cli/listing.h"
#include "cli/output.h"

namespace holdfast::cli {
namespace {

using resource::Kind;

Failure load_usage(std::string message) {
  return {Exit::Usage, "HF6010", std::move(message), "see `holdfast get --help`"};
}

Failure no_zone(const std::string& name) {
  return {Exit::Failed, "HF1047",
          fmt::format("zone {} is not in the zone map, and no proxy or agent is in it",
                      in_quotes(name)),
          "see which there are with `holdfast get zones`"};
}

bool is_word(std::string_view kind, std::string_view one, std::string_view many) {
  const std::string word(kind.substr(0, kind.find('/')));
  return absl::EqualsIgnoreCase(word, std::string(one)) ||
         absl::EqualsIgnoreCase(word, std::string(many));
}

bool prints_table(Output output) {
  return output == Output::Table || output == Output::Wide;
}

std::vector<std::string> load_names(const GetOptions& options) {
  std::vector<std::string> names = options.names;
  const size_t slash = options.kind.find('/');
  if (slash != std::string::npos) names.insert(names.begin(), options.kind.substr(slash + 1));
  return names;
}

// What is gone may still have connections; what has none should be there.
Status require_known(const Session& session, const std::string& service,
                     const v1::GetLoadResponse& load) {
  if (!load.pools().empty()) return absl::OkStatus();
  return fetch_named(session.client, Kind::Service, {service}).status();
}

// In the order they were named; of a service that nobody has reported nothing is there.
Result<v1::GetLoadResponse> ask_load(const Session& session, const std::vector<std::string>& names,
                                     bool with_holders) {
  v1::GetLoadRequest request;
  request.set_with_holders(with_holders);
  if (names.empty()) return session.client.load(request);
  v1::GetLoadResponse all;
  for (const std::string& name : names) {
    request.set_service(name);
    TRY(const v1::GetLoadResponse one, session.client.load(request));
    TRY_OK(require_known(session, name, one));
    const auto pools = all.pools();
    all = one;
    *all.mutable_pools() = pools;
    all.mutable_pools()->MergeFrom(one.pools());
  }
  return all;
}

Result<ZoneFacts> ask_zones(const Session& session) {
  ZoneFacts facts;
  TRY(const std::vector<v1::Resource> maps, fetch_all(session.client, Kind::ZoneMap, {}));
  for (const v1::Resource& map : maps) facts.map = map.zone_map();
  TRY(facts.proxies, fetch_all(session.client, Kind::Proxy, {}));
  TRY(facts.agents, fetch_all(session.client, Kind::Agent, {}));
  return facts;
}

}  // namespace

bool is_load(std::string_view kind) {
  return is_word(kind, "load", "loads");
}

bool is_zones(std::string_view kind) {
  return !kind.contains('/') && is_word(kind, "zone", "zones");
}

Exit get_load(const Session& session, const GetOptions& options) {
  if (options.watch || !options.labels.empty()) {
    return session.console.report(
        load_usage("load is listed by service, not watched nor selected"));
  }
  const Result<v1::GetLoadResponse> load =
      ask_load(session, load_names(options), options.output != Output::Table);
  if (!load.ok()) return session.failed(load.status());
  if (options.output == Output::Name) {
    for (const v1::PoolStatus& pool : load->pools()) {
      print_out(fmt::format("load/{}/{}\n", pool.service(), pool.zone()));
    }
    return Exit::Ok;
  }
  if (!prints_table(options.output)) {
    const Document document("load", *load);
    print_out(options.output == Output::Yaml ? document.yaml() : document.json());
    return Exit::Ok;
  }
  if (load->pools().empty()) {
    print_err("Nobody has reported connections.\n");
    return Exit::Ok;
  }
  print_out(render_load(
      *load, {.wide = options.output == Output::Wide, .last = session.console.last_column()}));
  return Exit::Ok;
}

Exit get_zones(const Session& session, const GetOptions& options) {
  if (options.watch || !options.labels.empty() || !options.names.empty()) {
    return session.console.report(load_usage("zones are listed, all of them"));
  }
  Result<ZoneFacts> facts = ask_zones(session);
  if (!facts.ok()) return session.failed(facts.status());
  Result<v1::GetLoadResponse> load = ask_load(session, {}, false);
  if (!load.ok()) return session.failed(load.status());
  facts->load = *std::move(load);
  const v1::ZoneList zones = zones_of(*facts);
  if (options.output == Output::Name) {
    for (const v1::ZoneStatus& zone : zones.zones())
      print_out(fmt::format("zone/{}\n", zone.name()));
    return Exit::Ok;
  }
  if (!prints_table(options.output)) {
    const Document document("zones", zones);
    print_out(options.output == Output::Yaml ? document.yaml() : document.json());
    return Exit::Ok;
  }
  if (zones.zones().empty()) {
    print_err("No zones found.\n");
    return Exit::Ok;
  }
  print_out(render_zones(zones, session.console.last_column()));
  return Exit::Ok;
}

Exit explain_route(const Session& session, const RouteOptions& options) {
  const auto service = fetch_named(session.client, Kind::Service, {options.service});
  if (!service.ok()) return session.failed(service.status());
  Result<ZoneFacts> facts = ask_zones(session);
  if (!facts.ok()) return session.failed(facts.status());
  Result<v1::GetLoadResponse> load = ask_load(session, {options.service}, true);
  if (!load.ok()) return session.failed(load.status());
  facts->load = *std::move(load);
  if (!has_zone(zones_of({.map = facts->map, .proxies = facts->proxies, .agents = facts->agents}),
                options.from)) {
    return session.console.report(no_zone(options.from));
  }
  const v1::RouteExplanation route =
      explain({.service = service->front(), .from = options.from, .known = *std::move(facts)});
  if (prints_table(options.output)) {
    print_out(render_route(route));
    return Exit::Ok;
  }
  const Document document("route", route);
  print_out(options.output == Output::Yaml ? document.yaml() : document.json());
  return Exit::Ok;
}

}  // namespace holdfast::cli

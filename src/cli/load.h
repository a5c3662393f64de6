// holdfast get load, get zones, route explain: how many connections services have where, who may
// have how many, and where the next one goes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "cli/commands.h"
#include "cli/table.h"
#include "holdfast/v1/load.pb.h"

namespace holdfast::cli {

// "load" or "loads", "zones" or "zone", in any case; load also with "/SERVICE" behind it.
bool is_load(std::string_view kind);
bool is_zones(std::string_view kind);

// Of all services, or of those named.
Exit get_load(const Session& session, const GetOptions& options);
Exit get_zones(const Session& session, const GetOptions& options);

struct RouteOptions {
  std::string service;
  std::string from;  // a zone
  Output output = Output::Table;
};
Exit explain_route(const Session& session, const RouteOptions& options);

struct LoadText {
  bool wide = false;
  LastColumn last = LastColumn::Cut;
};
std::string render_load(const v1::GetLoadResponse& load, const LoadText& how);
std::string render_zones(const v1::ZoneList& zones, LastColumn last);

// Everything that is known of zones, each once: those of the map in its order, then others by name.
struct ZoneFacts {
  v1::ZoneMap map{};
  std::vector<v1::Resource> proxies{};
  std::vector<v1::Resource> agents{};
  v1::GetLoadResponse load{};
};
v1::ZoneList zones_of(const ZoneFacts& facts);
bool has_zone(const v1::ZoneList& zones, std::string_view name);

// Where a connection to the service goes that comes in at a proxy of zone `from`, or is made on a
// machine there whose kernel translates it.
struct RouteFacts {
  v1::Resource service{};
  std::string from{};
  ZoneFacts known{};  // load: of this service, with holders
};
v1::RouteExplanation explain(const RouteFacts& facts);
std::string render_route(const v1::RouteExplanation& route);

}  // namespace holdfast::cli

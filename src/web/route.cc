#include "web/route.h"

#include <initializer_list>
#include <optional>

#include "base/reason.h"
#include "resource/registry.h"
#include "web/answer.h"

namespace holdfast::web {
namespace {

using std::string_view;
using Found = std::expected<Route, net::HttpResponse>;
using Segments = std::vector<std::string>;

// One method of a path.
struct Method {
  string_view name;
  Endpoint endpoint;
};
using Methods = std::initializer_list<Method>;

Found no_such_path() {
  return std::unexpected(net::http_error(404, "HF6034", "there is nothing at this path"));
}

Found choose(string_view method, Methods methods, Route route) {
  std::string allow;
  for (const Method& each : methods) {
    if (method == each.name || (method == "HEAD" && each.name == "GET")) {
      route.endpoint = each.endpoint;
      return route;
    }
    allow += allow.empty() ? "" : ", ";
    allow += each.name;
    if (each.name == "GET") allow += ", HEAD";
  }
  net::HttpResponse refused = net::http_error(405, "HF6035", "this path has no such method");
  refused.headers.emplace_back("Allow", std::move(allow));
  return std::unexpected(std::move(refused));
}

Found find_health(string_view method, const Segments& segments) {
  const std::string& first = segments.front();
  if (first == "readyz" && segments.size() == 2) {
    return choose(method, {{"GET", Endpoint::ReadyComponent}}, {.name = segments[1]});
  }
  if (segments.size() != 1) return no_such_path();
  if (first == "livez" || first == "healthz") return choose(method, {{"GET", Endpoint::Live}}, {});
  if (first == "readyz") return choose(method, {{"GET", Endpoint::Ready}}, {});
  if (first == "metrics") return choose(method, {{"GET", Endpoint::Metrics}}, {});
  return no_such_path();
}

std::optional<Endpoint> call_named(string_view name) {
  if (name == "watch") return Endpoint::Watch;
  if (name == "status") return Endpoint::Status;
  if (name == "whoami") return Endpoint::WhoAmI;
  if (name == "service-config") return Endpoint::ServiceConfig;
  if (name == "load") return Endpoint::Load;
  if (name == "caches") return Endpoint::Caches;
  if (name == "tunnels") return Endpoint::Tunnels;
  return std::nullopt;
}

Found find_v1(string_view method, const Segments& segments) {
  if (segments.size() < 2 || segments.size() > 3) return no_such_path();
  if (const std::optional<Endpoint> call = call_named(segments[1])) {
    if (segments.size() == 3) return no_such_path();
    return choose(method, {{"GET", *call}}, {});
  }
  if (segments[1] == "drain" && segments.size() == 2) {
    return choose(method, {{"GET", Endpoint::Drain}, {"POST", Endpoint::Drain}}, {});
  }
  const Result<resource::Kind> kind = resource::find_kind(segments[1]);
  if (!kind.ok()) {
    const absl::string_view why = kind.status().message();
    return std::unexpected(error_answer(
        coded(absl::StatusCode::kNotFound, "HF6034", string_view(why.data(), why.size()))));
  }
  Route route{.kind = std::string(resource::info(*kind).name)};
  if (segments.size() == 2) {
    return choose(method, {{"GET", Endpoint::List}, {"POST", Endpoint::Create}}, std::move(route));
  }
  route.name = segments[2];
  return choose(method,
                {{"GET", Endpoint::Get}, {"PUT", Endpoint::Put}, {"DELETE", Endpoint::Delete}},
                std::move(route));
}

}  // namespace

string_view verb_of(Endpoint endpoint) {
  switch (endpoint) {
    case Endpoint::Live:
    case Endpoint::Ready:
    case Endpoint::ReadyComponent:
      return "health";
    case Endpoint::Metrics:
      return "metrics";
    case Endpoint::List:
      return "list";
    case Endpoint::Create:
      return "create";
    case Endpoint::Get:
      return "get";
    case Endpoint::Put:
      return "update";
    case Endpoint::Delete:
      return "delete";
    case Endpoint::Watch:
      return "watch";
    case Endpoint::Status:
      return "status";
    case Endpoint::WhoAmI:
      return "whoami";
    case Endpoint::ServiceConfig:
      return "service-config";
    case Endpoint::Load:
      return "get-load";
    case Endpoint::Caches:
      return "caches";
    case Endpoint::Tunnels:
      return "tunnels";
    case Endpoint::Drain:
      return "drain";
  }
  return "";
}

Found find_route(string_view method, const Segments& segments, Served served) {
  if (segments.empty()) return no_such_path();
  if (segments.front() != "v1") return find_health(method, segments);
  if (served == Served::Everything) return find_v1(method, segments);
  return std::unexpected(net::http_error(
      404, "HF6034", "the API is not served here; use the address with TLS, or the unix socket"));
}

}  // namespace holdfast::web

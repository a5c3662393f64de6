// Which of our endpoints a request is for. Pure: the same for every listener, but a listener may
// serve only a part.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "net/http_message.h"

namespace holdfast::web {

// What a listener serves. Without TLS on TCP nobody can be told apart, so there it is health only.
enum class Served : uint8_t { HealthOnly, Everything };

enum class Endpoint : uint8_t {
  Live,
  Ready,
  ReadyComponent,
  Metrics,
  List,
  Create,
  Get,
  Put,
  Delete,
  Watch,
  Status,
  WhoAmI,
  ServiceConfig,
  Load,
  Caches,
  Tunnels,
  Drain,
};
// For the audit: "list".
std::string_view verb_of(Endpoint endpoint);

struct Route {
  Endpoint endpoint = Endpoint::Live;
  std::string kind{};  // its exact name
  std::string name{};  // of the resource, or of the component
  bool operator==(const Route&) const = default;
};

// Or the response to give instead: 404, or 405 with Allow. HEAD is GET here.
std::expected<Route, net::HttpResponse> find_route(std::string_view method,
                                                   const std::vector<std::string>& segments,
                                                   Served served);

}  // namespace holdfast::web

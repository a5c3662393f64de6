#include "web/web_server.h"

#include "web/answer.h"
#include "web/request.h"

namespace holdfast::web {
namespace {

net::HttpServerOptions with_health(net::HttpServerOptions options, const health::Health& health) {
  options.healthy = [&health] { return health.state() == health::State::Ok; };
  return options;
}

}  // namespace

WebServer::WebServer(const asio::any_io_executor& loop, Parts parts, Backend backend,
                     WebServerOptions options)
    : parts_(parts),
      watches_(loop, parts.fan_out, parts.clock, parts.registry, options.watches),
      api_(std::move(backend), parts.fan_out, watches_),
      http_(loop, parts.clock, parts.registry, with_health(std::move(options.http), parts.health)) {
}

Result<std::string> WebServer::listen(const net::HttpListen& where) {
  const bool callers_are_known = where.tls || where.address.starts_with("unix:");
  const Served served = callers_are_known ? Served::Everything : Served::HealthOnly;
  return http_.listen(
      where, [this, served](const net::HttpRequest& request) { return handle(request, served); });
}

asio::awaitable<net::HttpResponse> WebServer::handle(const net::HttpRequest& request,
                                                     Served served) {
  std::expected<Route, net::HttpResponse> route =
      find_route(request.method, request.target.segments, served);
  if (!route) co_return std::move(route).error();
  if (route->endpoint <= Endpoint::Metrics) co_return answer_health(*route, request);
  co_return co_await api_.handle(*route, request);
}

net::HttpResponse WebServer::answer_health(const Route& route, const net::HttpRequest& request) {
  const Status asked = no_query(request);
  if (!asked.ok()) return error_answer(asked);
  const Moment moment{.now = parts_.clock.now(), .wall_now = parts_.clock.wall_now()};
  switch (route.endpoint) {
    case Endpoint::Ready:
      return ready_answer(parts_.health.state(), parts_.health.components(), moment);
    case Endpoint::ReadyComponent:
      return component_answer(route.name, parts_.health.components(), moment);
    case Endpoint::Metrics:
      return {.content_type = "text/plain; version=0.0.4; charset=utf-8",
              .body = parts_.registry.expose()};
    default:
      return {.body = "{\"status\":\"ok\"}\n"};
  }
}

asio::awaitable<void> WebServer::stop() {
  watches_.shut_down(absl::UnavailableError("the controller is stopping"));
  co_await http_.stop();
}

}  // namespace holdfast::web

#include "probe/handler_server.h"

#include <utility>

#include "net/within.h"
#include "probe/answer.h"

namespace holdfast::probe {
namespace {

using namespace std::chrono_literals;

net::HttpResponse text_page(int status, std::string body) {
  return {
      .status = status, .content_type = "text_page/plain; charset=utf-8", .body = std::move(body)};
}

}  // namespace

net::HttpServerOptions handler_http_options() {
  net::HttpServerOptions options;
  options.max_connections = 4'096;
  options.limits = {.max_header_bytes = 16 << 10, .max_body_bytes = 4 << 10};
  options.max_buffered_bytes = 4 << 20;
  options.header_timeout = 5s;
  options.body_timeout = 5s;
  options.idle_timeout = 30s;
  options.write_timeout = 5s;
  options.linger = 250ms;
  options.raw_targets = true;
  options.cancel_handlers = true;
  options.replace_waiting = true;
  options.peer_closes_first = true;
  options.name_peers = false;
  return options;
}

HandlerServer::HandlerServer(const asio::any_io_executor& loop, const Parts& parts,
                             net::HttpServerOptions options)
    : parts_(parts),
      registry_(std::make_shared<const Registry>()),
      metrics_(parts.metrics),
      server_(loop, parts.clock, parts.metrics, std::move(options)) {}

void HandlerServer::use(Registry registry) {
  metrics_.use(registry);
  registry_ = std::make_shared<const Registry>(std::move(registry));
}

Result<std::string> HandlerServer::listen(const std::string& address) {
  return server_.listen({.address = address},
                        [this](const net::HttpRequest& request) { return answer(request); });
}

Result<std::string> HandlerServer::listen_for_health(const std::string& address) {
  return server_.listen(
      {.address = address},
      [this](const net::HttpRequest& request) -> asio::awaitable<net::HttpResponse> {
        co_return answer_health(request);
      });
}

asio::awaitable<net::HttpResponse> HandlerServer::answer(const net::HttpRequest& request) {
  const std::shared_ptr<const Registry> registry = registry_;  // use() may replace it meanwhile
  const auto asked = look_up(*registry, request);
  if (!asked) {
    metrics_.count_unasked(asked.error());
    co_return asked.error();
  }
  const Probe& probe = **asked;
  const Time started = parts_.clock.now();
  const Outcome outcome = co_await parts_.prober.run(probe, ProberService::Closing::Soon);
  if (co_await net::is_cancelled()) {
    metrics_.count_cancelled(request.raw_target);
    co_return net::HttpResponse{.reset = true};
  }
  metrics_.count_outcome(request.raw_target, probe, outcome, parts_.clock.now() - started);
  co_return to_response(probe, outcome);
}

net::HttpResponse HandlerServer::answer_health(const net::HttpRequest& request) const {
  const std::string& target = request.raw_target;
  const bool is_health = target == kOwnHealthPath || target == "/readyz";
  if (!is_health && target != "/metrics")
    return text_page(404, "there are /healthz, /readyz, /metrics\n");
  if (request.method != "GET" && request.method != "HEAD") {
    net::HttpResponse refusal = text_page(405, "use GET\n");
    refusal.headers.emplace_back("Allow", "GET, HEAD");
    return refusal;
  }
  if (is_health) return text_page(200, "ok\n");
  net::HttpResponse page = text_page(200, parts_.metrics.expose());
  page.content_type = "text_page/plain; version=0.0.4; charset=utf-8";
  return page;
}

}  // namespace holdfast::probe

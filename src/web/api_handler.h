// The /v1 routes: who calls, what it asks, the backend's answer as JSON.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "events/fan_out.h"
#include "net/http_message.h"
#include "web/backend_service.h"
#include "web/route.h"
#include "web/watch_handler.h"

namespace holdfast::web {

class ApiHandler {
 public:
  ApiHandler(Backend backend, events::FanOut& fan_out, WatchHandler& watches)
      : backend_(std::move(backend)), fan_out_(fan_out), watches_(watches) {}

  asio::awaitable<net::HttpResponse> handle(const Route& route, const net::HttpRequest& request);

 private:
  using Answer = asio::awaitable<Result<net::HttpResponse>>;
  // Whether this half of a pair serves it.
  asio::awaitable<Status> pass(const Route& route, const net::HttpRequest& request,
                               const api::Caller& caller);
  Answer dispatch_if_served(const Route& route, const net::HttpRequest& request,
                            api::Caller caller);
  Answer dispatch(const Route& route, const net::HttpRequest& request, api::Caller caller);
  Answer list(const Route& route, const net::HttpRequest& request, api::Caller caller);
  Answer get(const Route& route, const net::HttpRequest& request, api::Caller caller);
  Answer write(const Route& route, const net::HttpRequest& request, api::Caller caller);
  Answer remove(const Route& route, const net::HttpRequest& request, api::Caller caller);
  Answer watch(const net::HttpRequest& request, api::Caller caller);
  Answer load(const net::HttpRequest& request, api::Caller caller);
  Result<net::HttpResponse> caches(const net::HttpRequest& request) const;
  Result<net::HttpResponse> ask_node(const net::HttpRequest& request) const;
  template <typename Response, typename Request>
  Answer ask(const Call<Response, Request>& call, const net::HttpRequest& request,
             api::Caller caller);

  Backend backend_;
  events::FanOut& fan_out_;
  WatchHandler& watches_;
};

}  // namespace holdfast::web

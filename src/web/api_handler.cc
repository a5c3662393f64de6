#include "web/api_handler.h"

#include <charconv>
#include <chrono>
#include <string>

#include "base/reason.h"
#include "web/answer.h"
#include "web/request.h"

namespace holdfast::web {
namespace {

api::Presented presented_by(const net::HttpRequest& request) {
  return {.chain_pem = request.peer.chain_pem,
          .source = request.peer.source,
          .local = request.peer.local};
}

// Holdfast-Source: cache, stale or upstream; Holdfast-Stale: how old a stale answer is, in seconds.
template <typename T>
net::HttpResponse with_source(net::HttpResponse response, const Sourced<T>& read) {
  if (!read.source.empty()) response.headers.emplace_back("Holdfast-Source", read.source);
  if (read.stale_for) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(*read.stale_for).count();
    response.headers.emplace_back("Holdfast-Stale", std::to_string(seconds));
  }
  return response;
}

uint64_t known_epoch(const net::HttpRequest& request) {
  const auto found = request.headers.find("holdfast-epoch");
  if (found == request.headers.end()) return 0;
  const std::string& text = found->second;
  uint64_t epoch = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), epoch);
  return error == std::errc() && end == text.data() + text.size() ? epoch : 0;
}

// Holdfast-Epoch of every answer; who is sent away is told the role, and where the active half is.
void add_pair_headers(const PairBackend& pair, const Status& status, net::HttpResponse& response) {
  response.headers.emplace_back("Holdfast-Epoch", std::to_string(pair.epoch()));
  if (status.ok() || !split_reason(status).code.starts_with("HF41")) return;
  const Passage refused = pair.refusal();
  response.headers.emplace_back("Holdfast-Role", refused.role);
  if (!refused.active.empty()) response.headers.emplace_back("Holdfast-Active", refused.active);
}

}  // namespace

asio::awaitable<net::HttpResponse> ApiHandler::handle(const Route& route,
                                                      const net::HttpRequest& request) {
  const api::Presented presented = presented_by(request);
  Result<api::Caller> caller = backend_.admit(presented, verb_of(route.endpoint));
  net::HttpResponse response;
  if (caller.ok()) {
    Result<net::HttpResponse> answer =
        co_await dispatch_if_served(route, request, *std::move(caller));
    response = answer.ok() ? *std::move(answer) : error_answer(answer.status());
    if (backend_.pair) add_pair_headers(*backend_.pair, answer.status(), response);
  } else {
    response = error_answer(caller.status());
  }
  if (!response.stream) response.headers.emplace_back("Cache-Control", "no-store");
  co_return response;
}

ApiHandler::Answer ApiHandler::dispatch_if_served(const Route& route,
                                                  const net::HttpRequest& request,
                                                  api::Caller caller) {
  if (backend_.pair) CO_TRY_OK(co_await pass(route, request, caller));
  co_return co_await dispatch(route, request, std::move(caller));
}

asio::awaitable<Status> ApiHandler::pass(const Route& route, const net::HttpRequest& request,
                                         const api::Caller& caller) {
  if (route.endpoint == Endpoint::Status) co_return absl::OkStatus();
  if (route.endpoint == Endpoint::ServiceConfig) {
    backend_.pair->vote(caller);
    co_return absl::OkStatus();
  }
  const Passage passage = co_await backend_.pair->enter(caller, known_epoch(request));
  co_return passage.status;
}

ApiHandler::Answer ApiHandler::dispatch(const Route& route, const net::HttpRequest& request,
                                        api::Caller caller) {
  switch (route.endpoint) {
    case Endpoint::List:
      co_return co_await list(route, request, std::move(caller));
    case Endpoint::Get:
      co_return co_await get(route, request, std::move(caller));
    case Endpoint::Create:
    case Endpoint::Put:
      co_return co_await write(route, request, std::move(caller));
    case Endpoint::Delete:
      co_return co_await remove(route, request, std::move(caller));
    case Endpoint::Watch:
      co_return co_await watch(request, std::move(caller));
    case Endpoint::Status:
      co_return co_await ask(backend_.status, request, std::move(caller));
    case Endpoint::WhoAmI:
      co_return co_await ask(backend_.who_am_i, request, std::move(caller));
    case Endpoint::ServiceConfig:
      co_return co_await ask(backend_.service_config, request, std::move(caller));
    case Endpoint::Load:
      co_return co_await load(request, std::move(caller));
    case Endpoint::Caches:
      co_return caches(request);
    case Endpoint::Tunnels:
    case Endpoint::Drain:
      co_return ask_node(request);
    default:
      co_return absl::InternalError("a route of health is not of the API");
  }
}

ApiHandler::Answer ApiHandler::list(const Route& route, const net::HttpRequest& request,
                                    api::Caller caller) {
  CO_TRY(v1::ListRequest asked, list_request(route, request));
  CO_TRY(const Sourced<v1::ListResponse> page,
         co_await backend_.list(std::move(caller), std::move(asked)));
  co_return with_source(list_answer(page.value), page);
}

ApiHandler::Answer ApiHandler::get(const Route& route, const net::HttpRequest& request,
                                   api::Caller caller) {
  CO_TRY_OK(no_query(request));
  v1::GetRequest asked;
  asked.set_kind(route.kind);
  asked.set_name(route.name);
  CO_TRY(const Sourced<v1::Resource> found,
         co_await backend_.get(std::move(caller), std::move(asked)));
  co_return with_source(resource_answer(found.value), found);
}

ApiHandler::Answer ApiHandler::write(const Route& route, const net::HttpRequest& request,
                                     api::Caller caller) {
  CO_TRY_OK(backend_.read_only);
  const auto type = request.headers.find("content-type");
  if (type == request.headers.end() || !is_readable_type(type->second)) {
    co_return net::http_error(415, "HF6036",
                              "send the resource as Content-Type application/json or "
                              "application/yaml");
  }
  CO_TRY(Write asked, write_request(route, request));
  const bool creates = route.endpoint == Endpoint::Create;
  const auto& call = creates            ? backend_.create
                     : asked.must_exist ? backend_.update
                                        : backend_.upsert;
  CO_TRY(const v1::Resource written, co_await call(std::move(caller), std::move(asked.request)));
  co_return resource_answer(written, creates ? 201 : 200);
}

ApiHandler::Answer ApiHandler::remove(const Route& route, const net::HttpRequest& request,
                                      api::Caller caller) {
  CO_TRY_OK(backend_.read_only);
  CO_TRY(v1::DeleteRequest asked, delete_request(route, request));
  CO_TRY(const v1::DeleteResponse removed,
         co_await backend_.remove(std::move(caller), std::move(asked)));
  co_return message_answer(removed);
}

ApiHandler::Answer ApiHandler::watch(const net::HttpRequest& request, api::Caller caller) {
  CO_TRY(const v1::WatchRequest asked, watch_request(request));
  CO_TRY(const events::WatchRequest wanted, events::from_proto(asked, {}));
  CO_TRY(const events::WatchRequest allowed, backend_.authorise_watch(caller, wanted));
  if (allowed.after_revision > fan_out_.latest()) {
    CO_TRY(const int64_t latest, co_await backend_.latest_revision());
    fan_out_.note_latest(latest);
  }
  // A head alone is no watch.
  if (request.method == "HEAD") co_return net::HttpResponse{.content_type = "text/event-stream"};
  api::AdmittedWatch admitted{
      .presented = presented_by(request), .asked = wanted, .allowed = allowed.kinds};
  co_return watches_.open(allowed, {.expires = api::expiry_of(caller),
                                    .still_allowed = [this, admitted = std::move(admitted)] {
                                      return backend_.still_allowed(admitted);
                                    }});
}

// With who has what: whoever wants less asks by gRPC.
ApiHandler::Answer ApiHandler::load(const net::HttpRequest& request, api::Caller caller) {
  CO_TRY_OK(no_query(request));
  if (!backend_.load) {
    co_return coded(absl::StatusCode::kNotFound, "HF6034",
                    "a node has no load of others; ask a controller");
  }
  v1::GetLoadRequest asked;
  asked.set_with_holders(true);
  CO_TRY(const v1::GetLoadResponse response,
         co_await backend_.load(std::move(caller), std::move(asked)));
  co_return message_answer(response);
}

Result<net::HttpResponse> ApiHandler::caches(const net::HttpRequest& request) const {
  TRY_OK(no_query(request));
  if (backend_.caches) return message_answer(backend_.caches());
  return coded(absl::StatusCode::kNotFound, "HF6034",
               "a controller has no cache; ask a node's own socket, or see spec.caches of its "
               "agent or proxy");
}

Result<net::HttpResponse> ApiHandler::ask_node(const net::HttpRequest& request) const {
  TRY_OK(no_query(request));
  if (backend_.node_call) return backend_.node_call(request);
  return coded(absl::StatusCode::kNotFound, "HF6034",
               "a controller has no tunnels; ask a node's own socket, or a proxy's public "
               "address");
}

template <typename Response, typename Request>
ApiHandler::Answer ApiHandler::ask(const Call<Response, Request>& call,
                                   const net::HttpRequest& request, api::Caller caller) {
  CO_TRY_OK(no_query(request));
  CO_TRY(const Response response, co_await call(std::move(caller), Request()));
  co_return message_answer(response);
}

}  // namespace holdfast::web

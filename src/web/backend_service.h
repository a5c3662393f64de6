// What the /v1 routes need of a controller, or of a node's cache, as calls that app/ binds to its
// services. Each checks what its caller may and writes the audit; nothing is decided here.
#pragma once

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "api/gate.h"
#include "api/watch_access.h"
#include "base/clock.h"
#include "base/result.h"
#include "events/watch_request.h"
#include "holdfast/v1/api.pb.h"
#include "holdfast/v1/identity.pb.h"
#include "holdfast/v1/load.pb.h"
#include "holdfast/v1/node.pb.h"
#include "net/http_message.h"

namespace holdfast::web {

namespace asio = boost::asio;

template <typename Response, typename Request>
using Call = std::function<asio::awaitable<Result<Response>>(api::Caller, Request)>;

// What was read, and where, if that is worth saying: a controller says nothing of it.
template <typename T>
struct Sourced {
  T value{};
  std::string_view source{};            // "cache", "stale" or "upstream", for ever
  std::optional<Duration> stale_for{};  // since a stale answer was last known to be whole
};

// What becomes of a call at a controller that is one of a pair.
struct Passage {
  Status status{};       // OK: it is served here
  std::string role{};    // of this half, as "passive"
  std::string active{};  // where it is served; empty: not known
};
struct PairBackend {
  // Asked before each call but those that either half answers. Waits while this half becomes
  // active.
  std::function<asio::awaitable<Passage>(const api::Caller&, uint64_t known_epoch)> enter;
  std::function<void(const api::Caller&)> vote;
  std::function<uint64_t()> epoch;
  std::function<Passage()> refusal;
};

struct Backend {
  // Gate::admit
  std::function<Result<api::Caller>(const api::Presented&, std::string_view verb)> admit;

  // ResourceService
  Call<Sourced<v1::Resource>, v1::GetRequest> get;
  Call<Sourced<v1::ListResponse>, v1::ListRequest> list;
  // Why nothing can be written here, whatever it is: the calls below are not made then.
  Status read_only{};
  Call<v1::Resource, v1::WriteRequest> create;
  Call<v1::Resource, v1::WriteRequest> update;
  Call<v1::Resource, v1::WriteRequest> upsert;
  Call<v1::DeleteResponse, v1::DeleteRequest> remove;

  // authorise_watch
  std::function<Result<events::WatchRequest>(const api::Caller&, const events::WatchRequest&)>
      authorise_watch;
  // still_allowed() of watch_access.h
  std::function<Status(const api::AdmittedWatch&)> still_allowed;
  // The store's revision now, for a watcher that knows of one the fan-out has not seen yet.
  std::function<asio::awaitable<Result<int64_t>>()> latest_revision;

  Call<v1::GetStatusResponse, v1::GetStatusRequest> status;
  Call<v1::WhoAmIResponse, v1::WhoAmIRequest> who_am_i;
  Call<v1::GetServiceConfigResponse, v1::GetServiceConfigRequest> service_config;
  // Empty of a node.
  Call<v1::GetLoadResponse, v1::GetLoadRequest> load;
  // Of a controller that is one of a pair.
  std::optional<PairBackend> pair{};
  // Of a node only.
  std::function<v1::GetCachesResponse()> caches;
  // The same: /v1/tunnels and /v1/drain, from the request to the answer.
  std::function<Result<net::HttpResponse>(const net::HttpRequest&)> node_call;
};

}  // namespace holdfast::web

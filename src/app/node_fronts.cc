#include "app/node_fronts.h"

#include <fmt/format.h>

#include "base/reason.h"

namespace holdfast::app {
namespace {

using std::string_view;

Result<api::Caller> local_caller(const api::Presented& presented, string_view /*verb*/) {
  if (!presented.local) {
    return coded(absl::StatusCode::kUnauthenticated, "HF5002",
                 "a node's cache is for its own machine; use its unix socket");
  }
  api::Caller caller;
  caller.identity.role = identity::Role::Local;
  caller.source = presented.source;
  return caller;
}

Status read_only() {
  return coded(absl::StatusCode::kFailedPrecondition, "HF1290",
               "a node's cache is read-only; ask a controller");
}

template <typename Response, typename Request>
web::Call<Response, Request> not_here() {
  return [](api::Caller, Request) -> asio::awaitable<Result<Response>> {
    co_return coded(absl::StatusCode::kUnimplemented, "HF6011",
                    "a node does not answer this; ask a controller");
  };
}

// Coroutine and its caller's request, without a caller: everyone here may read everything.
template <typename Response, typename Request>
web::Call<Response, Request> open_to_all(
    const std::function<asio::awaitable<Result<Response>>(Request)>& read) {
  return [read](api::Caller, Request request) { return read(std::move(request)); };
}

asio::awaitable<Result<v1::WhoAmIResponse>> say_local(api::Caller caller, v1::WhoAmIRequest) {
  v1::WhoAmIResponse response;
  response.set_role(std::string(identity::to_string(caller.identity.role)));
  co_return response;
}

Status why_of(const v1::CachedKind& row, const std::string& otherwise) {
  if (row.code().empty()) return absl::UnavailableError(otherwise);
  return coded(absl::StatusCode::kUnavailable, row.code(), row.reason());
}

// It answers, however old, when no controller does.
bool has_last_good(const v1::CachedKind& row) {
  return row.generation() > 0 || row.revision() > 0;
}

}  // namespace

NodeFronts::NodeFronts(const asio::any_io_executor& loop, Parts parts, NodeReads reads,
                       NodeFrontsOptions options)
    : clock_(parts.clock),
      reads_(std::move(reads)),
      options_(std::move(options)),
      web_(loop,
           {.fan_out = parts.fan_out,
            .health = health_,
            .registry = parts.registry,
            .clock = parts.clock},
           backend(), {.http = options_.http}) {}

web::Backend NodeFronts::backend() const {
  web::Backend backend;
  backend.admit = local_caller;
  backend.get = open_to_all(reads_.get);
  backend.list = open_to_all(reads_.list);
  backend.read_only = read_only();
  backend.authorise_watch = [](const api::Caller&, const events::WatchRequest& asked) {
    return Result<events::WatchRequest>(asked);
  };
  backend.still_allowed = [](const api::AdmittedWatch&) { return absl::OkStatus(); };
  // A revision the cache has not seen yet is one it cannot watch from: the watcher reads anew.
  backend.latest_revision = []() -> asio::awaitable<Result<int64_t>> { co_return 0; };
  backend.status = not_here<v1::GetStatusResponse, v1::GetStatusRequest>();
  backend.who_am_i = say_local;
  backend.service_config = not_here<v1::GetServiceConfigResponse, v1::GetServiceConfigRequest>();
  backend.caches = [this] {
    v1::GetCachesResponse response;
    response.set_node(options_.node);
    for (v1::CachedKind& row : reads_.caches()) *response.add_caches() = std::move(row);
    return response;
  };
  backend.node_call = reads_.node_call;
  return backend;
}

Result<std::vector<std::string>> NodeFronts::listen() {
  std::vector<std::string> addresses;
  const std::string socket = "unix:" + options_.socket_file;
  for (const std::string& address : {socket, options_.listen}) {
    if (address.empty()) continue;
    Result<std::string> bound = web_.listen({.address = address});
    if (!bound.ok()) return annotate(bound.status(), fmt::format("listening on {}", address));
    addresses.push_back(*std::move(bound));
  }
  return addresses;
}

void NodeFronts::report(const std::vector<v1::CachedKind>& caches, bool has_controller) {
  const Time now = clock_.now();
  for (const v1::CachedKind& row : caches) {
    const std::string component = "cache-" + row.kind();
    // A warning, or none, ends trouble at once: a kind that answers again keeps nobody waiting.
    if (row.source() == "cache") {
      health_.report_warning(component, absl::OkStatus(), now);
    } else if (row.source() == "stale") {
      health_.report_warning(component, why_of(row, "answers from the last good generation"), now);
    } else if (has_controller || has_last_good(row)) {
      health_.report_warning(component, why_of(row, "a controller is asked first"), now);
    } else {
      health_.report_error(component, why_of(row, "no generation and no controller"), now);
    }
  }
}

void NodeFronts::report(const ComponentReport& one) {
  const Time now = clock_.now();
  if (one.status.ok() || one.is_warning) {
    health_.report_warning(one.component, one.status, now);
  } else {
    health_.report_error(one.component, one.status, now);
  }
}

}  // namespace holdfast::app

// The controller as its fronts see it: what gRPC, HTTP and metrics are given.
#include <utility>

#include "api/watch_access.h"
#include "app/controller.h"
#include "app/controller_metrics.h"

namespace holdfast::app {
namespace {

// The store itself is read: where an answer comes from needs no saying.
template <typename Service, typename Request, typename Response>
auto read_by(Service& service,
             asio::awaitable<Result<Response>> (Service::*method)(api::Caller, Request)) {
  return [&service, method](api::Caller caller,
                            Request request) -> asio::awaitable<Result<web::Sourced<Response>>> {
    CO_TRY(Response found, co_await (service.*method)(std::move(caller), std::move(request)));
    co_return web::Sourced<Response>{.value = std::move(found)};
  };
}

void set_connection_metrics(MetricTotals& metrics, const api::GrpcServer& server) {
  const api::ListenerStats& listener = server.listener_stats();
  metrics.set({"holdfast_grpc_connections", "gRPC connections with TLS that are open."}, {},
              static_cast<double>(server.open_connections()));
  metrics.count({"holdfast_grpc_connections_total", "gRPC connections with TLS taken."}, {},
                listener.accepted);
  for (const auto& [reason, refused] : listener.refused) {
    metrics.count({"holdfast_grpc_refused_connections_total",
                   "gRPC connections closed as they came, by the limit that was reached."},
                  {{"reason", std::string(reason)}}, refused);
  }
  metrics.count({"holdfast_grpc_handshakes_total", "gRPC connections whose TLS was set up."}, {},
                server.handshakes());
}

}  // namespace

web::Backend Controller::backend() {
  // Coroutines of the services, whichever front they come in by.
  const auto bind = [](auto& service, auto method) {
    return [&service, method](api::Caller caller, auto request) {
      return (service.*method)(std::move(caller), std::move(request));
    };
  };
  const auto allowed = [this, bind](auto& service, auto method, identity::Call call) {
    return [this, call, run = bind(service, method)](
               api::Caller caller, auto request) -> decltype(run(caller, request)) {
      const Status may = gate_.allow(caller, call);
      if (!may.ok()) co_return may;
      co_return co_await run(std::move(caller), std::move(request));
    };
  };
  using api::IdentityService;
  using api::NodeService;
  using api::ResourceService;
  return {.admit = [this](const api::Presented& from,
                          std::string_view verb) { return gate_.admit(from, verb); },
          .get = read_by(resources_, &ResourceService::get),
          .list = read_by(resources_, &ResourceService::list),
          .create = bind(resources_, &ResourceService::create),
          .update = bind(resources_, &ResourceService::update),
          .upsert = bind(resources_, &ResourceService::upsert),
          .remove = bind(resources_, &ResourceService::remove),
          .authorise_watch =
              [this](const api::Caller& caller, const events::WatchRequest& asked) {
                return api::authorise_watch(gate_, caller, asked);
              },
          .still_allowed =
              [this](const api::AdmittedWatch& watch) { return api::still_allowed(gate_, watch); },
          .latest_revision = [this]() -> asio::awaitable<Result<int64_t>> {
            CO_TRY(const store::RangeResult now,
                   co_await shown_store().range({store::prefix_range("/"), 1}));
            co_return now.revision;
          },
          .status = allowed(nodes_, &NodeService::get_status, identity::Call::Status),
          .who_am_i = allowed(identity_, &IdentityService::who_am_i, identity::Call::WhoAmI),
          .service_config =
              allowed(nodes_, &NodeService::get_service_config, identity::Call::ServiceConfig),
          .load = bind(load_, &api::LoadService::get_load),
          .pair = pair_ == nullptr ? std::nullopt : std::optional(pair_->backend())};
}

void Controller::update_metrics() {
  MetricTotals metrics(registry_);
  set_status_metrics(metrics, nodes_.status());
  set_load_metrics(metrics, load_);
  if (pair_ != nullptr) pair_->update_metrics(metrics);
  const auto add_calls = [&](const char* listener, const api::GrpcServer* server) {
    if (server == nullptr) return;
    metrics.count({"holdfast_grpc_calls_total", "Calls, by listener."}, {{"listener", listener}},
                  server->stats().calls);
    metrics.count({"holdfast_grpc_calls_refused_total", "Calls refused because too many ran."},
                  {{"listener", listener}}, server->stats().refused_when_full);
  };
  add_calls("unix", local_server_.get());
  add_calls("tls", tls_server_.get());
  if (tls_server_ != nullptr) set_connection_metrics(metrics, *tls_server_);
  const auto count = [&](const char* name, const char* help, uint64_t total) {
    metrics.count({name, help}, {}, total);
  };
  count("holdfast_requests_over_rate_total", "Requests refused for coming too fast.",
        gate_.refused_by_rate());
  count("holdfast_audit_lines_total", "Lines written to the audit log.", audit_->stats().lines);
  count("holdfast_audit_lines_lost_total", "Lines that could not be written.",
        audit_->stats().lost);
  count("holdfast_requests_denied_total", "Requests refused by identity or permission.",
        audit_->stats().refusals);
  count("holdfast_requests_repeated_total",
        "Writes sent again with their request id and answered without being applied again.",
        resources_.stats().repeated);
  count("holdfast_events_total", "Events handed to the fan-out.", fan_out_.stats().events);
  count("holdfast_watch_messages_total", "Messages delivered to watchers.",
        fan_out_.stats().messages_taken);
  count("holdfast_watchers_evicted_total", "Watchers closed for being slow.",
        fan_out_.stats().evicted);
  count("holdfast_watchers_refused_total", "Watchers refused because there were too many.",
        fan_out_.stats().refused);
  const api::PresenceStats& presence = presence_.stats();
  count("holdfast_announcements_total", "Announcements stored.", presence.announced);
  count("holdfast_announcements_timed_out_total", "Announcements the store did not take in time.",
        presence.timed_out);
  count("holdfast_announcements_refused_total", "Announcements refused because too many waited.",
        presence.refused_full);
  count("holdfast_announcements_doubled_total", "Announcements by a name that two processes have.",
        presence.doubled);
  count("holdfast_goodbyes_kept_total",
        "Goodbyes of processes after which another one has their name.", presence.kept_goodbyes);
  count("holdfast_presence_commits_total", "Commits that carried announcements.", presence.commits);
  metrics.set({"holdfast_tasks_held", "1 while this controller does what one alone does."}, {},
              tenure_.held() ? 1 : 0);
  count("holdfast_tasks_taken_total", "Times it took over what one alone does.",
        tenure_.stats().taken);
  count("holdfast_nodes_marked_offline_total", "Nodes found to be offline.",
        presence.marked_offline);
}

api::GrpcServices Controller::services() {
  api::GrpcServices services{gate_, resources_,      watches_,      identity_,   nodes_,
                             load_, health_streams_, pair_control_, divergences_};
  if (pair_ != nullptr) services.pair.emplace(pair_->parts());
  services.own_name = options_.name;
  return services;
}

}  // namespace holdfast::app

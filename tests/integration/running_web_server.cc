#include "running_web_server.h"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>

#include <future>

#include "base/check.h"
#include "base/reason.h"
#include "resource/registry.h"

namespace holdfast::test {
namespace {

std::vector<events::WatchKind> watched_kinds() {
  std::vector<events::WatchKind> kinds;
  for (const resource::KindInfo& kind : resource::all_kinds()) {
    kinds.push_back({.kind = std::string(kind.name)});
  }
  return kinds;
}

std::string key_of(const std::string& kind, const std::string& name) {
  return kind + "/" + name;
}

template <typename T>
asio::awaitable<Result<T>> ready(Result<T> result) {
  co_return result;
}

}  // namespace

RunningWebServer::RunningWebServer(web::WebServerOptions options, events::FanOutOptions fan_out)
    : guard_(loop_.get_executor()),
      fan_out_(fan_out, watched_kinds()),
      server_(loop_.get_executor(),
              {.fan_out = fan_out_, .health = health_, .registry = registry_, .clock = clock_},
              make_backend(), std::move(options)) {
  static_cast<void>(fan_out_.init(watched_kinds(), revision_, revision_));
  health_.report_ok("store", clock_.now());
  thread_ = std::thread([this] { loop_.run(); });
}

RunningWebServer::~RunningWebServer() {
  stop();
}

void RunningWebServer::stop() {
  if (!thread_.joinable()) return;
  asio::post(loop_, [this] {
    asio::co_spawn(loop_, server_.stop(), asio::detached);
    guard_.reset();
  });
  thread_.join();
}

void RunningWebServer::on_loop(const std::function<void()>& work) {
  std::promise<void> done;
  asio::post(loop_, [&] {
    work();
    done.set_value();
  });
  done.get_future().wait();
}

std::string RunningWebServer::listen(const std::string& address, bool tls) {
  Result<std::string> bound = absl::UnknownError("");
  on_loop([&] { bound = server_.listen({.address = address, .tls = tls}); });
  HF_CHECK(bound.ok(), bound.status().ToString());
  return *bound;
}

void RunningWebServer::set_tls(const std::string& certificate_pem,
                               const std::string& private_key_pem) {
  on_loop([&] { HF_CHECK(server_.set_tls(certificate_pem, private_key_pem).ok(), "they fit"); });
}

void RunningWebServer::put(const std::string& name, const std::string& description) {
  on_loop([&] {
    v1::Resource service = resource::make_resource(resource::Kind::Service, name);
    service.mutable_metadata()->set_description(description);
    HF_CHECK(write(std::move(service), true, false).ok(), "it is written");
  });
}

void RunningWebServer::report(const Status& store) {
  on_loop([&] {
    if (store.ok()) return health_.report_ok("store", clock_.now());
    health_.report_error("store", store, clock_.now());
  });
}

void RunningWebServer::pass(Duration time) {
  on_loop([&] {
    passed_ += time;
    server_.wake(fan_out_.on_tick(clock_.now() + passed_));
  });
}

void RunningWebServer::revoke(const Status& why) {
  on_loop([&] {
    verdict_ = why;
    server_.end_unlawful(true);
  });
}

void RunningWebServer::set_expiry(WallTime expires) {
  on_loop([&] { expires_ = expires; });
}

size_t RunningWebServer::watcher_count() {
  size_t count = 0;
  on_loop([&] { count = server_.watcher_count(); });
  return count;
}

void RunningWebServer::append(events::Event event) {
  std::vector<events::Event> events;
  events.push_back(std::move(event));
  server_.wake(fan_out_.append(std::move(events), clock_.now() + passed_));
}

Result<v1::Resource> RunningWebServer::write(v1::Resource resource, bool may_exist,
                                             bool must_exist) {
  v1::Metadata& metadata = *resource.mutable_metadata();
  const auto found = resources_.find(key_of(resource.kind(), metadata.name()));
  const bool exists = found != resources_.end();
  if (exists && !may_exist) return absl::AlreadyExistsError("it is there");
  if (!exists && must_exist) return absl::NotFoundError("it is not there");
  if (must_exist && metadata.revision() != 0 &&
      metadata.revision() != found->second.metadata().revision()) {
    return absl::AbortedError("it has changed");
  }
  metadata.set_revision(++revision_);
  resources_[key_of(resource.kind(), metadata.name())] = resource;
  append(events::make_put(resource, nullptr, revision_));
  return resource;
}

Result<v1::DeleteResponse> RunningWebServer::remove(const v1::DeleteRequest& request) {
  if (resources_.erase(key_of(request.kind(), request.name())) == 0) {
    return absl::NotFoundError("it is not there");
  }
  append(events::make_delete(request.kind(), request.name(), ++revision_));
  v1::DeleteResponse response;
  response.set_revision(revision_);
  return response;
}

Result<web::Sourced<v1::ListResponse>> RunningWebServer::list(
    const v1::ListRequest& request) const {
  web::Sourced<v1::ListResponse> read;
  v1::ListResponse& response = read.value;
  response.set_revision(revision_);
  for (const auto& [key, resource] : resources_) {
    if (resource.kind() == request.kind()) *response.add_resources() = resource;
  }
  return read;
}

web::Backend RunningWebServer::make_backend() {
  web::Backend backend;
  backend.admit = [this](const api::Presented& presented, std::string_view) -> Result<api::Caller> {
    const bool known = presented.local || !presented.chain_pem.empty();
    if (!known) return coded(absl::StatusCode::kUnauthenticated, "HF5002", "who are you");
    api::Caller caller;
    caller.identity.role = presented.local ? identity::Role::Local : identity::Role::User;
    caller.identity.name = presented.local ? "" : "test";
    caller.expires = expires_;
    return caller;
  };
  backend.get = [this](api::Caller, v1::GetRequest request) {
    const auto found = resources_.find(key_of(request.kind(), request.name()));
    const bool exists = found != resources_.end();
    using Read = web::Sourced<v1::Resource>;
    return ready<Read>(exists ? Result<Read>(Read{.value = found->second})
                              : absl::NotFoundError("it is not there"));
  };
  backend.list = [this](api::Caller, v1::ListRequest request) { return ready(list(request)); };
  backend.create = [this](api::Caller, v1::WriteRequest request) {
    return ready(write(request.resource(), false, false));
  };
  backend.update = [this](api::Caller, v1::WriteRequest request) {
    return ready(write(request.resource(), true, true));
  };
  backend.upsert = [this](api::Caller, v1::WriteRequest request) {
    return ready(write(request.resource(), true, false));
  };
  backend.remove = [this](api::Caller, v1::DeleteRequest request) {
    return ready(remove(request));
  };
  backend.authorise_watch = [](const api::Caller&, const events::WatchRequest& request) {
    return Result<events::WatchRequest>(request);
  };
  backend.still_allowed = [this](const api::AdmittedWatch&) { return verdict_; };
  backend.latest_revision = [this] { return ready<int64_t>(revision_); };
  backend.status = [](api::Caller, v1::GetStatusRequest) {
    v1::GetStatusResponse response;
    response.set_controller("c1");
    return ready<v1::GetStatusResponse>(response);
  };
  backend.who_am_i = [](api::Caller caller, v1::WhoAmIRequest) {
    v1::WhoAmIResponse response;
    response.set_role(caller.identity.role == identity::Role::Local ? "local" : "user");
    response.set_name(caller.identity.name);
    return ready<v1::WhoAmIResponse>(response);
  };
  backend.service_config = [](api::Caller, v1::GetServiceConfigRequest) {
    return ready<v1::GetServiceConfigResponse>(v1::GetServiceConfigResponse());
  };
  return backend;
}

}  // namespace holdfast::test

#include "app/controller.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "app/listen_address.h"
#include "base/log.h"
#include "base/private_file.h"
#include "base/reason.h"
#include "identity/rotation.h"
#include "resource/proto_time.h"
#include "store/etcd_store.h"
#include "store/memory_store.h"
#include "store/sqlite_store.h"

namespace holdfast::app {
namespace {

using resource::Kind;

constexpr size_t kExpireAtOnce = 128;
constexpr Duration kTick = std::chrono::seconds(1);
// A store that is gone does not hold up the end.
constexpr Duration kGoodbyePatience = std::chrono::milliseconds(500);

Status make_data_dir(const std::string& path) {
  if (path.empty()) return absl::InvalidArgumentError("name a folder with --data-dir");
  std::error_code error;
  const bool made = std::filesystem::create_directories(path, error);
  if (error) {
    return absl::PermissionDeniedError(
        fmt::format("making {}: {}. Choose another with --data-dir", path, error.message()));
  }
  if (made) ::chmod(path.c_str(), 0700);
  return absl::OkStatus();
}

Result<std::unique_ptr<store::Store>> open_store(const asio::any_io_executor& loop,
                                                 const ControllerOptions& options,
                                                 const Clock& clock) {
  switch (options.store) {
    case StoreType::Memory:
      return std::make_unique<store::MemoryStore>(loop, store::MemoryStoreOptions{});
    case StoreType::Sqlite:
      return store::SqliteStore::open(
          loop, {.path = options.data_dir + "/store.db",
                 .writer = {.if_damaged =
                                options.pair ? store::kTakeACopy : store::kRestoreOrStartEmpty}});
    case StoreType::Etcd:
      break;
  }
  if (options.etcd.endpoints.empty()) {
    return absl::InvalidArgumentError("--store etcd needs at least one --etcd-endpoint HOST:PORT");
  }
  return std::make_unique<store::EtcdStore>(loop, options.etcd, clock);
}

std::string_view name_of(StoreType type) {
  return type == StoreType::Sqlite ? "sqlite" : type == StoreType::Etcd ? "etcd" : "memory";
}

}  // namespace

Result<std::unique_ptr<Controller>> Controller::start(asio::io_context& loop, const Clock& clock,
                                                      ControllerOptions options) {
  for (const std::string& address : options.listen) TRY_OK(check_can_listen(address));
  TRY_OK(make_data_dir(options.data_dir));
  TRY(store::FileLock lock, store::FileLock::acquire(options.data_dir + "/controller"));
  TRY(std::unique_ptr<store::Store> store, open_store(loop.get_executor(), options, clock));
  options.audit.path = options.data_dir + "/audit.log";
  TRY(std::unique_ptr<api::AuditService> audit, api::AuditService::open(options.audit, clock));
  std::unique_ptr<Controller> controller(new Controller(
      loop, clock, std::move(options), {std::move(lock), std::move(store), std::move(audit)}));
  const Status listening = controller->listen();
  if (listening.ok()) return controller;
  // What is open already is closed in order, here, since nobody will run the loop.
  controller->tasks_.spawn(controller->stop_serving());
  loop.run();
  return listening;
}

Controller::Controller(asio::io_context& loop, const Clock& clock, ControllerOptions options,
                       Opened opened)
    : loop_(loop.get_executor()),
      clock_(clock),
      options_(std::move(options)),
      started_(clock.wall_now()),
      lock_(std::move(opened.lock)),
      store_(std::move(opened.store)),
      audit_(std::move(opened.audit)),
      health_(options_.health),
      fan_out_(options_.fan_out, api::every_kind()),
      gate_(clock_, *audit_, options_.gate),
      pair_(make_pair()),
      pair_control_(*audit_, pair_service()),
      divergences_({*store_, *audit_, files_, divergence_folder(), pair_writes()}),
      resources_({shown_store(), gate_, *audit_, clock_}, options_.resource_limits),
      watches_(loop_, {shown_store(), fan_out_, gate_, clock_, pair_service()}, options_.watches),
      health_streams_(loop_, gate_, health_stream_options()),
      feed_(
          shown_store(), fan_out_, clock_,
          [this](const auto& ids) {
            watches_.wake(ids);
            web_.wake(ids);
            if (!fed_) report_feed();
          },
          feed_options()),
      authority_(gate_, clock_,
                 {.controller_name = options_.name,
                  .zone = options_.zone,
                  .hosts = options_.hosts,
                  .node_certificate_ttl = options_.identity.node_certificate_ttl},
                 [this](const auto& certificate) { on_certificate(certificate); }),
      identity_({shown_store(), gate_, *audit_, authority_, clock_}, options_.identity),
      tenure_(loop_, shown_store(), clock_,
              {.tenure = {.name = options_.name}, .shared = options_.store == StoreType::Etcd}),
      presence_(loop_, shown_store(), clock_, options_.presence,
                {.fill_response = [this](const auto& request,
                                         auto& response) { fill_response(request, response); },
                 .on_write = [this](const Status& status) { report("store", status); },
                 .is_active = [this] { return is_active(); },
                 .followed = store_.get(),
                 .mark_checks = [this] { return tenure_.checks(); }}),
      nodes_({gate_, presence_, authority_, fan_out_, health_, tenure_, clock_},
             {.controller_name = options_.name,
              .version = options_.version,
              .store = std::string(name_of(options_.store)),
              .started = started_,
              .service_config = options_.service_config,
              .describe_pair = describe_pair()}),
      load_forward_(
          {.dealer = [this] { return tenure_.holder(); }, .tls = [this] { return own_tls(); }}),
      load_(load_parts(), {.controller_name = options_.name}),
      registry_({.version = options_.version}),
      web_(loop_, {fan_out_, health_, registry_, clock_}, backend(),
           {.http = {.max_connections = options_.max_http_connections,
                     .max_connections_per_address =
                         std::max<size_t>(1, options_.max_http_connections / 4 * 3)}}),
      tasks_(loop_) {}

Status Controller::listen() {
  for (const char* component : {"store", "events", "audit", "identity"}) {
    health_.expect(component, clock_.now());
  }
  api::GrpcServerOptions local = options_.grpc;
  local.listen = {fmt::format("unix:{}/holdfast.sock", options_.data_dir)};
  local.pair = pair_service();
  addresses_ = local.listen;
  TRY(local_server_, api::GrpcServer::start(loop_, std::move(local), services()));
  TRY_OK(listen_http());
  follow_identity();
  follow_load();
  if (pair_ != nullptr) {
    report_pair();
    tasks_.spawn(find_identity());
    take_away_again();
    pair_->service().start();
  }
  tenure_.start();
  presence_.start();
  tasks_.spawn(feed_.run());
  tasks_.spawn(feed_.watch_deadlines());
  tasks_.spawn(heartbeat());
  tasks_.spawn(tick());
  tasks_.spawn(expire_items());
  tasks_.spawn(health_streams_.beat());
  return absl::OkStatus();
}

Status Controller::listen_http() {
  TRY_OK(web_.listen({.address = fmt::format("unix:{}/http.sock", options_.data_dir)}).status());
  if (!options_.http_listen.empty()) {
    TRY(const std::string api, web_.listen({.address = options_.http_listen, .tls = true}));
    log::info("serving HTTPS", {{"address", api}});
  }
  if (options_.health_listen.empty()) return absl::OkStatus();
  TRY(const std::string health, web_.listen({.address = options_.health_listen}));
  log::info("serving health and metrics", {{"address", health}});
  return absl::OkStatus();
}

// The first one opens the doors; gRPC reads the file again when it changes.
void Controller::on_certificate(const api::ServerCertificate& certificate) {
  identity_written_ =
      write_private_file(identity_file(), certificate.private_key_pem + certificate.chain_pem);
  const Status https = web_.set_tls(certificate.chain_pem, certificate.private_key_pem);
  if (!https.ok()) log::error("HTTPS keeps its old certificate", {{"why", https.ToString()}});
  log::info("certificate made", {{"expires", to_rfc3339(certificate.expires)}});
  follow_pair_identity();
  report("identity", identity_status());
}

// Tries again whatever did not work; there is nothing to do before `holdfast init`.
Status Controller::identity_status() {
  TRY_OK(authority_.status());
  const std::optional<api::ServerCertificate>& certificate = authority_.certificate();
  if (!certificate) return absl::OkStatus();
  if (!identity_written_.ok()) {
    identity_written_ =
        write_private_file(identity_file(), certificate->private_key_pem + certificate->chain_pem);
    TRY_OK(identity_written_);
  }
  if (tls_server_ != nullptr || options_.listen.empty()) return absl::OkStatus();
  return listen_with_tls();
}

Status Controller::listen_with_tls() {
  api::GrpcServerOptions secured = options_.grpc;
  secured.listen = options_.listen;
  secured.identity_file = identity_file();
  secured.pair = pair_service();
  TRY(tls_server_, api::GrpcServer::start(loop_, std::move(secured), services()));
  for (size_t i = 0; i < options_.listen.size(); ++i) {
    addresses_.push_back(with_port(options_.listen[i], tls_server_->ports()[i]));
    log::info("serving with TLS", {{"address", addresses_.back()}});
  }
  return absl::OkStatus();
}

void Controller::report(const std::string& component, const Status& status) {
  if (stopping_) return;
  // What a pair refuses or waits for is not the store's fault.
  const bool waits = component == "store" && !status.ok() && pair_ != nullptr &&
                     (!pair_->service().refusal().status.ok() || pair_->service().is_waiting());
  if (waits) return;
  const health::State before = health_.state();
  if (status.ok()) {
    health_.report_ok(component, clock_.now());
  } else {
    health_.report_error(component, status, clock_.now());
  }
  const health::State now = health_.state();
  health_streams_.set_serving(now == health::State::Ok);
  if (now == before) return;
  const auto level = now == health::State::Degraded ? log::warn : log::info;
  level("health changed", {{"from", health::to_string(before)},
                           {"to", health::to_string(now)},
                           {"component", component},
                           {"why", std::string(status.message())}});
}

// Shown, but no reason to send clients away: the old configuration works.
void Controller::on_configuration(const Status& status) {
  if (status.ok()) return health_.forget("configuration");
  health_.report_warning("configuration", status, clock_.now());
}

void Controller::fill_response(const v1::AnnounceRequest& request,
                               v1::AnnounceResponse& response) const {
  const Result<v1::CertAuthority> authority = authority_.authority();
  if (!authority.ok()) return;
  const Result<std::vector<std::string>> pins = identity::trusted_pins(*authority);
  if (!pins.ok()) return;
  const std::set<std::string> trusted(pins->begin(), pins->end());
  const std::set<std::string> known(request.trusted_pins().begin(), request.trusted_pins().end());
  if (trusted != known) response.set_ca_pem(identity::trusted_pem(*authority));
  response.set_renew_certificate(identity::should_renew(*authority, request.issuer_pin()));
}

v1::AnnounceRequest Controller::own_announcement() const {
  v1::AnnounceRequest request;
  *request.mutable_resource() = resource::make_resource(Kind::Controller, options_.name);
  v1::Controller& self = *request.mutable_resource()->mutable_controller();
  const std::string address = addresses_.size() > 1 ? addresses_[1] : "";
  self.set_address(options_.advertise.empty() ? address : options_.advertise);
  self.set_version(options_.version);
  self.set_zone(options_.zone);
  *self.mutable_started() = resource::to_proto(started_);
  if (!authority_.certificate()) return request;
  request.set_issuer_pin(authority_.certificate()->issuer_pin);
  const Result<v1::Authority> facts = authority_.facts();
  if (facts.ok()) *request.mutable_trusted_pins() = facts->pins();
  return request;
}

// How the controller knows that its store works: it writes that it is there, in bounded time.
asio::awaitable<void> Controller::heartbeat() {
  for (;;) {
    const bool active = pair_ == nullptr || co_await pair_->service().until_serving();
    if (!active) co_return;
    const WallTime expires =
        authority_.certificate() ? authority_.certificate()->expires : WallTime();
    const Result<v1::AnnounceResponse> announced =
        co_await presence_.announce(own_announcement(), expires);
    // What the other half does not confirm is no fault of the store.
    const bool serving = pair_ == nullptr || pair_->service().refusal().status.ok();
    if (!announced.ok() && !absl::IsCancelled(announced.status()) && serving) {
      report("store", announced.status());
    }
    co_await announce_peer();
    const Duration next =
        announced.ok() ? resource::to_duration(announced->next_in()) : Duration(kTick);
    const bool slept = co_await net::pause(next);
    if (!slept) co_return;
  }
}

asio::awaitable<void> Controller::tick() {
  for (;;) {
    const bool slept = co_await net::pause(kTick);
    if (!slept) co_return;
    update_metrics();
    audit_->on_tick();
    authority_.on_tick();
    load_.on_tick();
    web_.end_unlawful(gate_changes_.take());
    watches_.end_unlawful();
    health_streams_.end_unlawful(clock_.wall_now());
    report("audit", audit_->status());
    if (pair_ != nullptr) {
      follow_pair_identity();
      pair_->beats().end_unlawful(clock_.wall_now());
      report_pair();
    }
    report_feed();
    report("identity", identity_status());
  }
}

// Starting until the feed runs for the first time; an error whenever it is lost after that.
void Controller::report_feed() {
  if (!is_active()) return;
  fed_ = fed_ || fan_out_.initialised();
  if (!fed_) return;
  // Whoever waits for a half to be well for a while waits for nothing: there is no other.
  const bool again = std::exchange(feed_lost_, !fan_out_.initialised()) && !feed_lost_;
  if (again && pair_ != nullptr) health_.forget("events");
  report("events", fan_out_.initialised()
                       ? absl::OkStatus()
                       : coded(absl::StatusCode::kUnavailable, "HF1105",
                               "the event feed lost its place and starts again"));
}

asio::awaitable<void> Controller::expire_items() {
  for (;;) {
    const bool slept = co_await net::pause(options_.expiry_period);
    if (!slept) co_return;
    if (!lock_.is_current()) {
      // What is written now goes nowhere: better to be gone than to acknowledge it.
      failure_ =
          absl::DataLossError("the data folder was removed or replaced under the controller");
      log::error("stopping", {{"why", failure_.ToString()}});
      std::raise(SIGTERM);
      co_return;
    }
    if (!is_active()) continue;
    Result<size_t> expired = kExpireAtOnce;
    while (expired.ok() && *expired == kExpireAtOnce) {
      expired = co_await shown_store().expire(clock_.wall_now(), kExpireAtOnce);
    }
    // Once until it changes.
    if (!expired.ok() && expired.status() != expiry_failure_) {
      log::warn("cannot expire items", {{"why", expired.status().ToString()}});
    }
    expiry_failure_ = expired.status();
  }
}

asio::awaitable<void> Controller::stop_serving() {
  co_await web_.stop();
  if (local_server_ != nullptr) co_await local_server_->stop();
  if (tls_server_ != nullptr) co_await tls_server_->stop();
}

asio::awaitable<void> Controller::stop() {
  stopping_ = true;
  health_streams_.shut_down();
  if (pair_ != nullptr && is_active()) {
    const auto switched = co_await pair_->service().switch_over();
    if (!switched.ok()) log::info("not handed over", {{"why", switched.status().ToString()}});
  }
  co_await watches_.shut_down();
  if (pair_ != nullptr) pair_->beats().shut_down();
  co_await stop_serving();
  v1::GoodbyeRequest goodbye;
  goodbye.set_kind("controller");
  goodbye.set_name(options_.name);
  *goodbye.mutable_started() = resource::to_proto(started_);
  if (is_active()) {
    const Result<v1::GoodbyeResponse> said = co_await presence_.goodbye(goodbye, kGoodbyePatience);
    if (!said.ok()) log::warn("no goodbye could be said", {{"why", said.status().ToString()}});
  }
  co_await presence_.stop();
  co_await tenure_.stop();
  feed_.stop();
  for (api::FollowService& follow : follows_) follow.stop();
  if (pair_ != nullptr) co_await pair_->service().stop();
  co_await tasks_.join();
}

}  // namespace holdfast::app

#include "app/controller.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "base/log.h"
#include "store/etcd_store.h"
#include "store/memory_store.h"
#include "store/sqlite_store.h"

namespace holdfast::app {
namespace {

constexpr size_t kExpireAtOnce = 128;

// gRPC's own addresses are lenient; a name that is not on this machine must not slip through while
// there are no certificates. "127.example.org" is a name, not an address.
Status check_loopback(const std::string& address) {
  const std::string host = address.substr(0, address.rfind(':'));
  in_addr numeric{};
  const bool is_numeric = ::inet_pton(AF_INET, host.c_str(), &numeric) == 1;
  const bool loopback = is_numeric && ntohl(numeric.s_addr) >> 24 == IN_LOOPBACKNET;
  const bool has_port = host.size() + 1 < address.size();  // gRPC would take 443
  if (has_port && (loopback || host == "localhost" || host == "[::1]")) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "--listen {}: only loopback addresses (127.0.0.1:PORT, [::1]:PORT) can be served without "
      "certificates",
      address));
}

std::string socket_path(const ControllerOptions& options) {
  return options.data_dir + "/holdfast.sock";
}

Status make_data_dir(const std::string& path) {
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
      return store::SqliteStore::open(loop, {.path = options.data_dir + "/store.db"});
    case StoreType::Etcd:
      break;
  }
  if (options.etcd_endpoints.empty()) {
    return absl::InvalidArgumentError("--store etcd needs at least one --etcd-endpoint HOST:PORT");
  }
  return std::make_unique<store::EtcdStore>(
      loop, store::EtcdOptions{.endpoints = options.etcd_endpoints}, clock);
}

}  // namespace

Result<std::unique_ptr<Controller>> Controller::start(asio::io_context& loop, const Clock& clock,
                                                      ControllerOptions options) {
  for (const std::string& address : options.listen) TRY_OK(check_loopback(address));
  TRY_OK(make_data_dir(options.data_dir));
  // gRPC would take the socket from a controller that listens on it.
  TRY(store::SqliteFileLock lock, store::SqliteFileLock::acquire(socket_path(options)));
  TRY(std::unique_ptr<store::Store> store, open_store(loop.get_executor(), options, clock));
  std::unique_ptr<Controller> controller(
      new Controller(loop, clock, std::move(options), std::move(lock), std::move(store)));
  TRY_OK(controller->listen());
  return controller;
}

Controller::Controller(asio::io_context& loop, const Clock& clock, ControllerOptions options,
                       store::SqliteFileLock lock, std::unique_ptr<store::Store> store)
    : loop_(loop.get_executor()),
      clock_(clock),
      options_(std::move(options)),
      lock_(std::move(lock)),
      store_(std::move(store)),
      fan_out_(options_.fan_out, api::every_kind()),
      resources_(*store_, options_.resource_limits),
      watches_(loop_, *store_, fan_out_, clock_, options_.watches),
      feed_(*store_, fan_out_, clock_, [this](const auto& ids) { watches_.wake(ids); }),
      tasks_(loop_) {}

Status Controller::listen() {
  std::vector<std::string> listen = {"unix:" + socket_path(options_)};
  listen.insert(listen.end(), options_.listen.begin(), options_.listen.end());
  TRY(server_, api::GrpcServer::start(loop_, {.listen = listen}, resources_, watches_));
  for (size_t i = 0; i < listen.size(); ++i) {
    const std::string host = listen[i].substr(0, listen[i].rfind(':'));
    const bool unix_socket = listen[i].starts_with("unix:");
    addresses_.push_back(unix_socket ? listen[i] : fmt::format("{}:{}", host, server_->ports()[i]));
  }
  tasks_.spawn(feed_.run());
  tasks_.spawn(feed_.watch_deadlines());
  tasks_.spawn(expire_items());
  return absl::OkStatus();
}

asio::awaitable<void> Controller::expire_items() {
  for (;;) {
    const bool slept = co_await net::pause(options_.expiry_period);
    if (!slept) co_return;
    Result<size_t> expired = kExpireAtOnce;
    while (expired.ok() && *expired == kExpireAtOnce) {
      expired = co_await store_->expire(clock_.wall_now(), kExpireAtOnce);
    }
    if (!expired.ok()) log::warn("cannot expire items", {{"why", expired.status().ToString()}});
  }
}

asio::awaitable<void> Controller::stop() {
  co_await server_->stop();
  feed_.stop();
  co_await tasks_.join();
}

}  // namespace holdfast::app

#include "app/controller.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <csignal>
#include <filesystem>

#include "base/log.h"
#include "store/etcd_store.h"
#include "store/memory_store.h"
#include "store/sqlite_store.h"

namespace holdfast::app {
namespace {

constexpr size_t kExpireAtOnce = 128;

// Without certificates, only what cannot be reached from another machine.
Status check_loopback(const std::string& address) {
  std::string host = address.substr(0, address.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const std::string port = address.substr(std::min(address.size(), address.rfind(':') + 1));
  const bool port_ok = !port.empty() && port.size() <= 5 &&
                       port.find_first_not_of("0123456789") == std::string::npos &&
                       std::stoi(port) <= 65535;
  boost::system::error_code error;
  const asio::ip::address parsed = asio::ip::make_address(host, error);
  if (port_ok && !error && parsed.is_loopback()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(fmt::format(
      "--listen {}: only loopback addresses (127.0.0.1:PORT, [::1]:PORT) can be served without "
      "certificates; PORT is 0 to 65535",
      address));
}

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
      return store::SqliteStore::open(loop, {.path = options.data_dir + "/store.db"});
    case StoreType::Etcd:
      break;
  }
  if (options.etcd.endpoints.empty()) {
    return absl::InvalidArgumentError("--store etcd needs at least one --etcd-endpoint HOST:PORT");
  }
  return std::make_unique<store::EtcdStore>(loop, options.etcd, clock);
}

}  // namespace

Result<std::unique_ptr<Controller>> Controller::start(asio::io_context& loop, const Clock& clock,
                                                      ControllerOptions options) {
  for (const std::string& address : options.listen) TRY_OK(check_loopback(address));
  TRY_OK(make_data_dir(options.data_dir));
  TRY(store::FileLock lock, store::FileLock::acquire(options.data_dir + "/controller"));
  TRY(std::unique_ptr<store::Store> store, open_store(loop.get_executor(), options, clock));
  std::unique_ptr<Controller> controller(
      new Controller(loop, clock, std::move(options), std::move(lock), std::move(store)));
  TRY_OK(controller->listen());
  return controller;
}

Controller::Controller(asio::io_context& loop, const Clock& clock, ControllerOptions options,
                       store::FileLock lock, std::unique_ptr<store::Store> store)
    : loop_(loop.get_executor()),
      clock_(clock),
      options_(std::move(options)),
      lock_(std::move(lock)),
      store_(std::move(store)),
      fan_out_(options_.fan_out, api::every_kind()),
      resources_(*store_, options_.resource_limits),
      watches_(loop_, *store_, fan_out_, clock_, options_.watches),
      feed_(*store_, fan_out_, clock_, [this](const auto& ids) { watches_.wake(ids); }, {}),
      tasks_(loop_) {}

Status Controller::listen() {
  std::vector<std::string> listen = {fmt::format("unix:{}/holdfast.sock", options_.data_dir)};
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
    if (!lock_.is_current()) {
      // What is written now goes nowhere: better to be gone than to acknowledge it.
      failure_ =
          absl::DataLossError("the data folder was removed or replaced under the controller");
      log::error("stopping", {{"why", failure_.ToString()}});
      std::raise(SIGTERM);
      co_return;
    }
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

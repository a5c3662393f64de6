#include "app/node_role.h"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <iostream>
#include <random>

#include "app/node.h"
#include "app/sd_notify.h"
#include "app/supervisor.h"
#include "base/bytes.h"
#include "base/check.h"
#include "base/log.h"
#include "base/reason.h"
#include "cli/address.h"
#include "net/task_group.h"
#include "node/identity_loader.h"
#include "resource/text_rules.h"
#include "store/file_lock.h"

namespace holdfast::app {
namespace {

namespace asio = boost::asio;

constexpr int kExitFailed = 1;
constexpr int kExitBadConfig = 78;

struct Prepared {
  NodeAppOptions options;
  node::HeldIdentity held;
  store::FileLock lock;  // two processes would undo each other's renewals and goodbyes
};

Result<std::vector<std::string>> servers_of(const NodeRole& role, const std::string& joined) {
  std::vector<std::string> servers = role.servers;
  if (servers.empty() && !joined.empty()) servers = {joined};
  if (servers.empty()) {
    return coded(absl::StatusCode::kInvalidArgument, "HF6010",
                 "no controller is known; name one with --server HOST:PORT");
  }
  for (const std::string& server : servers) {
    if (!resource::wrong_address(server)) continue;
    return coded(absl::StatusCode::kInvalidArgument, "HF6010",
                 fmt::format("--server {}: {}; use HOST:PORT, as HOST:{}", quoted(server),
                             server.contains(':') ? "not a controller's address" : "has no port",
                             cli::kDefaultPort));
  }
  return servers;
}

Result<Prepared> prepare(const NodeRole& role) {
  if (role.data_dir.empty()) {
    return coded(absl::StatusCode::kInvalidArgument, "HF6010",
                 "the data folder is not known; name it with --data-dir");
  }
  NodeAppOptions options{.data_dir = role.data_dir, .listen = role.listen};
  options.node.folder = role.data_dir + "/identity";
  TRY(node::LoadedNode loaded, node::load_node(options.node.folder));
  if (loaded.held.who.role != role.role) {
    return coded(absl::StatusCode::kFailedPrecondition, "HF5018",
                 fmt::format("{} holds the identity of {}, and this is the role {}",
                             quoted(options.node.folder, 256), identity::to_string(loaded.held.who),
                             identity::to_string(role.role)));
  }
  TRY(store::FileLock lock, store::FileLock::acquire(role.data_dir + "/node"));
  TRY(options.node.servers, servers_of(role, loaded.server));
  options.node.version = role.version;
  options.node.seed = std::random_device{}();
  options.node.pick.seed = std::random_device{}();
  return Prepared{
      .options = std::move(options), .held = std::move(loaded.held), .lock = std::move(lock)};
}

asio::awaitable<void> start(Node& node) {
  co_await node.start();
  tell_systemd("READY=1");
}

asio::awaitable<void> run_until_told(asio::io_context& loop, Node& node) {
  net::TaskGroup watchdog(loop.get_executor());
  if (const auto period = watchdog_period()) watchdog.spawn(feed_watchdog(*period));
  asio::signal_set signals(loop, SIGINT, SIGTERM);
  net::TaskGroup starting(loop.get_executor());
  starting.spawn(start(node));
  const auto [error, number] = co_await signals.async_wait(asio::as_tuple(asio::use_awaitable));
  if (!error) log::info("stopping", {{"signal", number}});
  tell_systemd("STOPPING=1");
  co_await starting.join();
  co_await node.stop();
  co_await watchdog.join();
}

}  // namespace

int run_node(const NodeRole& role) {
  Result<Prepared> prepared = prepare(role);
  if (!prepared.ok()) {
    std::cerr << "holdfastd: " << prepared.status().message() << "\n";
    return kExitBadConfig;
  }
  const SystemClock clock;
  asio::io_context loop{1};
  Node node(loop.get_executor(), clock, std::move(prepared->options), std::move(prepared->held));
  const Result<std::vector<std::string>> addresses = node.listen();
  asio::co_spawn(loop, addresses.ok() ? run_until_told(loop, node) : node.stop_listening(),
                 [](const std::exception_ptr& thrown) {
                   HF_CHECK(thrown == nullptr, "stopping does not throw");
                 });
  if (addresses.ok()) {
    for (const std::string& address : *addresses) log::info("node serves", {{"address", address}});
  } else {
    std::cerr << "holdfastd: " << addresses.status().message() << "\n";
  }
  loop.run();
  log::info("stopped");
  return addresses.ok() ? 0 : kExitFailed;
}

}  // namespace holdfast::app

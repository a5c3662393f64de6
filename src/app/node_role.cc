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

#include "app/sd_notify.h"
#include "app/supervisor.h"
#include "base/bytes.h"
#include "base/check.h"
#include "base/log.h"
#include "base/reason.h"
#include "net/task_group.h"
#include "node/node_service.h"
#include "resource/text_rules.h"
#include "store/file_lock.h"

namespace holdfast::app {
namespace {

namespace asio = boost::asio;

constexpr int kExitBadConfig = 78;

struct Prepared {
  node::NodeOptions options;
  node::HeldIdentity held;
  store::FileLock lock;  // two processes would undo each other's renewals and goodbyes
};

Result<Prepared> prepare(const NodeRole& role) {
  if (role.data_dir.empty()) {
    return coded(absl::StatusCode::kInvalidArgument, "HF6010",
                 "the data folder is not known; name it with --data-dir");
  }
  node::NodeOptions options;
  options.folder = role.data_dir + "/identity";
  TRY(node::LoadedNode loaded, node::load_node(options.folder));
  if (loaded.held.who.role != role.role) {
    return coded(absl::StatusCode::kFailedPrecondition, "HF5018",
                 fmt::format("{} holds the identity of {}, and this is the role {}",
                             quoted(options.folder, 256), identity::to_string(loaded.held.who),
                             identity::to_string(role.role)));
  }
  TRY(store::FileLock lock, store::FileLock::acquire(role.data_dir + "/node"));
  Prepared made{
      .options = std::move(options), .held = std::move(loaded.held), .lock = std::move(lock)};
  made.options.servers = role.servers;
  if (role.servers.empty() && !loaded.server.empty()) made.options.servers = {loaded.server};
  if (made.options.servers.empty()) {
    return coded(absl::StatusCode::kInvalidArgument, "HF6010",
                 "no controller is known; name one with --server HOST:PORT");
  }
  for (const std::string& server : made.options.servers) {
    const std::optional<std::string> wrong = resource::wrong_address(server);
    if (!wrong) continue;
    return coded(absl::StatusCode::kInvalidArgument, "HF6010",
                 fmt::format("--server {}: {}", quoted(server), *wrong));
  }
  made.options.version = role.version;
  made.options.seed = std::random_device{}();
  return made;
}

asio::awaitable<void> run_until_told(asio::io_context& loop, node::NodeService& node) {
  net::TaskGroup watchdog(loop.get_executor());
  if (const auto period = watchdog_period()) watchdog.spawn(feed_watchdog(*period));
  asio::signal_set signals(loop, SIGINT, SIGTERM);
  node.start();
  tell_systemd("READY=1");
  const auto [error, number] = co_await signals.async_wait(asio::as_tuple(asio::use_awaitable));
  if (!error) log::info("stopping", {{"signal", number}});
  tell_systemd("STOPPING=1");
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
  node::NodeService node(loop.get_executor(), clock, std::move(prepared->options),
                         std::move(prepared->held));
  asio::co_spawn(loop, run_until_told(loop, node), [](const std::exception_ptr& thrown) {
    HF_CHECK(thrown == nullptr, "stopping does not throw");
  });
  loop.run();
  log::info("stopped");
  return 0;
}

}  // namespace holdfast::app

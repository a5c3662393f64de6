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

#include "app/agent_part.h"
#include "app/exit_status.h"
#include "app/log_config.h"
#include "app/node.h"
#include "app/proxy_part.h"
#include "app/sd_notify.h"
#include "app/supervisor.h"
#include "base/bytes.h"
#include "base/check.h"
#include "base/log.h"
#include "base/reason.h"
#include "net/task_group.h"
#include "node/identity_loader.h"
#include "store/file_lock.h"

namespace holdfast::app {
namespace {

namespace asio = boost::asio;

constexpr size_t kFailureCauses = 5;

struct Prepared {
  NodeAppOptions options;
  node::HeldIdentity held;
  store::FileLock lock;  // two processes would undo each other's renewals and goodbyes
};

identity::Role role_of(const config::Loaded& loaded) {
  return loaded.role == config::Role::Proxy ? identity::Role::Proxy : identity::Role::Agent;
}

Result<std::vector<std::string>> servers_of(const config::NodeSection& config,
                                            const std::vector<std::string>& joined) {
  if (!config.servers.empty()) return config.servers;
  if (!joined.empty()) return joined;
  return coded(absl::StatusCode::kInvalidArgument, "HF6010",
               "no controller is known; name one with --server HOST:PORT, or in node.servers");
}

uint64_t random_seed() {
  return (uint64_t{std::random_device{}()} << 32) | std::random_device{}();
}

std::function<Result<std::unique_ptr<NodePart>>(const PartWorld&)> part_maker(
    const NodeRole& role) {
  const config::Config& config = role.loaded.config;
  if (role.loaded.role == config::Role::Proxy) {
    return [options = ProxyPartOptions{.config = config.proxy,
                                       .version = role.version,
                                       .seed = random_seed()}](const PartWorld& world) {
      return ProxyPart::make(world, options);
    };
  }
  return [options = AgentPartOptions{.config = config.agent,
                                     .probe = config.probe,
                                     .version = role.version,
                                     .seed = random_seed()}](const PartWorld& world) {
    return AgentPart::make(world, options);
  };
}

Result<Prepared> prepare(const NodeRole& role) {
  const config::NodeSection& config = role.loaded.config.node;
  NodeAppOptions options{.data_dir = config.data_dir,
                         .listen = config.health_listen,
                         .witness_listen = role.loaded.config.witness.listen,
                         .max_staleness = config.max_staleness};
  options.node.folder = config.data_dir + "/identity";
  TRY(node::LoadedNode loaded, node::load_node(options.node.folder));
  for (const std::string& odd : loaded.warnings) log::warn("the identity is odd", {{"why", odd}});
  if (loaded.held.who.role != role_of(role.loaded)) {
    return coded(
        absl::StatusCode::kFailedPrecondition, "HF5018",
        fmt::format("{} holds the identity of {}, and this is the role {}",
                    in_quotes(options.node.folder, 256), identity::to_string(loaded.held.who),
                    identity::to_string(role_of(role.loaded))));
  }
  TRY(store::FileLock lock, store::FileLock::acquire(config.data_dir + "/node"));
  options.node.epoch_file = config.data_dir + "/epoch";
  TRY(options.node.epoch, node::load_epoch(options.node.epoch_file, loaded.held.who.cluster));
  TRY(options.node.servers, servers_of(config, loaded.servers));
  options.node.version = role.version;
  options.node.seed = std::random_device{}();
  options.node.pick.seed = std::random_device{}();
  options.make_part = part_maker(role);
  const config::TrackingConfig& tracking = role.loaded.config.agent.tracking;
  // A row that is shown has a series for each cause of failure.
  if (tracking.enabled) options.max_series += kFailureCauses * tracking.limits.series;
  return Prepared{
      .options = std::move(options), .held = std::move(loaded.held), .lock = std::move(lock)};
}

asio::awaitable<void> start(Node& node) {
  co_await node.start();
  tell_systemd("READY=1");
}

// A configuration that is wrong changes nothing, and shows.
void reload(const NodeRole& role, Node& node) {
  const Result<config::Loaded> next = role.reload();
  if (next.ok()) {
    configure_log(next->config.log);
    const config::Changes changes = config::changes(role.loaded, *next);
    log::info("configuration read again",
              {{"live", fmt::format("{}", fmt::join(changes.live, ","))},
               {"need_restart", fmt::format("{}", fmt::join(changes.need_restart, ","))}});
  }
  node.on_configuration(next);
}

// The next signal that says to stop; 0 if none can come any more.
asio::awaitable<int> told_to_stop(asio::signal_set& signals, const NodeRole& role, Node& node) {
  for (;;) {
    const auto [error, number] = co_await signals.async_wait(asio::as_tuple(asio::use_awaitable));
    if (error) co_return 0;
    if (number != SIGHUP) co_return number;
    reload(role, node);
  }
}

asio::awaitable<void> hurry_at_next(asio::signal_set& signals, const NodeRole& role, Node& node) {
  const int number = co_await told_to_stop(signals, role, node);
  if (number == 0) co_return;
  log::warn("stopping at once: told twice", {{"signal", number}});
  node.hurry();
}

asio::awaitable<void> run_until_told(asio::signal_set& signals, const NodeRole& role, Node& node) {
  const auto loop = signals.get_executor();
  net::TaskGroup watchdog(loop);
  if (const auto period = watchdog_period()) watchdog.spawn(feed_watchdog(*period));
  net::TaskGroup starting(loop);
  starting.spawn(start(node));
  const int number = co_await told_to_stop(signals, role, node);
  log::info("stopping", {{"signal", number}});
  tell_systemd("STOPPING=1");
  co_await starting.join();
  net::TaskGroup hurrying(loop);
  hurrying.spawn(hurry_at_next(signals, role, node));
  co_await node.stop();
  signals.cancel();
  co_await hurrying.join();
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
  asio::signal_set signals(loop, SIGINT, SIGTERM, SIGHUP);  // before anything is opened
  Node node(loop.get_executor(), clock, std::move(prepared->options), std::move(prepared->held));
  const Result<std::vector<std::string>> addresses = node.listen();
  asio::co_spawn(loop, addresses.ok() ? run_until_told(signals, role, node) : node.stop_listening(),
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
  if (addresses.ok()) return 0;
  return absl::IsInvalidArgument(addresses.status()) ? kExitBadConfig : kExitFailed;
}

}  // namespace holdfast::app

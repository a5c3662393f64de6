#include "app/witness_role.h"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <iostream>
#include <random>

#include "app/exit_status.h"
#include "app/sd_notify.h"
#include "app/supervisor.h"
#include "app/witness.h"
#include "base/bytes.h"
#include "base/check.h"
#include "base/log.h"
#include "base/reason.h"
#include "node/identity_loader.h"
#include "store/file_lock.h"

namespace holdfast::app {
namespace {

constexpr const char* kDefaultListen = "0.0.0.0:7461";

struct PreparedWitness {
  WitnessOptions options;
  node::HeldIdentity held;
  store::FileLock lock;
};

Result<PreparedWitness> prepare_witness(const config::Config& config, const std::string& version) {
  WitnessOptions options{.data_dir = config.node.data_dir,
                         .listen = config.witness.listen,
                         .health_listen = config.node.health_listen,
                         .servers = config.node.servers,
                         .version = version,
                         .seed = std::random_device{}()};
  if (options.listen.empty()) options.listen = kDefaultListen;
  const std::string folder = options.data_dir + "/identity";
  TRY(node::LoadedNode loaded, node::load_node(folder));
  for (const std::string& odd : loaded.warnings) log::warn("the identity is odd", {{"why", odd}});
  if (loaded.held.who.role != identity::Role::Witness) {
    return coded(absl::StatusCode::kFailedPrecondition, "HF5018",
                 fmt::format("{} holds the identity of {}, and this is the role witness",
                             in_quotes(folder, 256), identity::to_string(loaded.held.who)));
  }
  TRY(store::FileLock lock, store::FileLock::acquire(options.data_dir + "/node"));
  if (options.servers.empty()) options.servers = loaded.servers;
  if (options.servers.empty()) {
    return coded(absl::StatusCode::kInvalidArgument, "HF6010",
                 "no controller is known; name both with --server HOST:PORT, or in node.servers");
  }
  return PreparedWitness{
      .options = std::move(options), .held = std::move(loaded.held), .lock = std::move(lock)};
}

asio::awaitable<void> run_witness_until_told(asio::signal_set& signals, Witness& witness) {
  net::TaskGroup watchdog(signals.get_executor());
  if (const auto period = watchdog_period()) watchdog.spawn(feed_watchdog(*period));
  witness.start();
  tell_systemd("READY=1");
  const auto [error, number] = co_await signals.async_wait(asio::as_tuple(asio::use_awaitable));
  if (!error) log::info("stopping", {{"signal", number}});
  tell_systemd("STOPPING=1");
  co_await witness.stop();
  co_await watchdog.join();
}

}  // namespace

int run_witness(const config::Loaded& loaded, const std::string& version) {
  Result<PreparedWitness> prepared = prepare_witness(loaded.config, version);
  if (!prepared.ok()) return exit_with(prepared.status(), kExitBadConfig);
  const SystemClock clock;
  asio::io_context loop{1};
  asio::signal_set signals(loop, SIGINT, SIGTERM);  // before anything is opened
  Result<std::unique_ptr<Witness>> witness = Witness::open(
      loop.get_executor(), clock, std::move(prepared->options), std::move(prepared->held));
  if (!witness.ok()) return exit_with(witness.status(), kExitFailed);
  const Result<std::vector<std::string>> addresses = (*witness)->listen();
  asio::co_spawn(loop,
                 addresses.ok() ? run_witness_until_told(signals, **witness) : (*witness)->stop(),
                 [](const std::exception_ptr& thrown) {
                   HF_CHECK(thrown == nullptr, "stopping does not throw");
                 });
  if (addresses.ok()) {
    for (const std::string& address : *addresses) {
      log::info("witness serves", {{"address", address}});
    }
  }
  loop.run();
  log::info("stopped");
  return addresses.ok() ? 0 : exit_with(addresses.status(), kExitFailed);
}

}  // namespace holdfast::app

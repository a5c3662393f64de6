// holdfastd: the daemon. Parses options, builds one role, runs it until it is told to stop.
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <iostream>

#include "app/controller.h"
#include "app/paths.h"
#include "base/check.h"
#include "base/log.h"

namespace holdfast::app {
namespace {

constexpr int kExitUsage = 64;
constexpr int kExitFailed = 1;

asio::awaitable<void> stop_on_signal(asio::io_context& loop, Controller& controller) {
  asio::signal_set signals(loop, SIGINT, SIGTERM);
  const auto [error, number] = co_await signals.async_wait(asio::as_tuple(asio::use_awaitable));
  if (!error) log::info("stopping", {{"signal", number}});
  co_await controller.stop();
}

// Connections are file descriptors; the soft limit is only a default.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int run_controller(ControllerOptions options) {
  const SystemClock clock;
  asio::io_context loop{1};
  Result<std::unique_ptr<Controller>> controller =
      Controller::start(loop, clock, std::move(options));
  if (!controller.ok()) {
    std::cerr << "holdfastd: " << controller.status().message() << "\n";
    return kExitFailed;
  }
  for (const std::string& address : (*controller)->addresses()) {
    log::info("controller ready", {{"address", address}});
  }
  asio::co_spawn(loop, stop_on_signal(loop, **controller), [](const std::exception_ptr& thrown) {
    HF_CHECK(thrown == nullptr, "stopping does not throw");
  });
  loop.run();
  log::info("stopped");
  return 0;
}

int main(int argc, char** argv) {
  CLI::App app{
      "holdfastd keeps a fleet reachable. It runs one role:\n"
      "  holdfastd controller     holds the truth: resources, events, API\n"};
  app.set_version_flag("--version", "holdfastd " HF_VERSION);
  app.require_subcommand(1);

  ControllerOptions options;
  options.data_dir = default_data_dir();
  std::string log_level = "info";
  CLI::App* controller = app.add_subcommand("controller", "run a controller");
  const std::map<std::string, StoreType> stores = {
      {"sqlite", StoreType::Sqlite}, {"memory", StoreType::Memory}, {"etcd", StoreType::Etcd}};
  controller->add_option("--data-dir", options.data_dir, "where the store and the socket live")
      ->envname("HOLDFAST_DATA_DIR")
      ->capture_default_str();
  controller
      ->add_option("--store", options.store,
                   "sqlite (one file in the data dir), etcd, or memory (nothing is kept)")
      ->transform(CLI::CheckedTransformer(stores))
      ->envname("HOLDFAST_STORE");
  controller
      ->add_option("--etcd-endpoint", options.etcd_endpoints, "HOST:PORT of a member; may repeat")
      ->envname("HOLDFAST_ETCD_ENDPOINTS")
      ->delimiter(',');
  controller
      ->add_option("--listen", options.listen,
                   "also serve on a loopback address, as 127.0.0.1:7443; port 0 picks one")
      ->envname("HOLDFAST_LISTEN")
      ->delimiter(',');
  app.add_option("--log-level", log_level, "debug, info, warn or error")
      ->envname("HOLDFAST_LOG_LEVEL")
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
  }

  log::Level level = log::Level::Info;
  if (!log::parse_level(log_level, level)) {
    std::cerr << "holdfastd: --log-level " << log_level << ": use debug, info, warn or error\n";
    return kExitUsage;
  }
  log::configure(level, isatty(STDERR_FILENO) != 0 ? log::Format::Logfmt : log::Format::Json);
  std::signal(SIGPIPE, SIG_IGN);
  umask(0077);
  raise_descriptor_limit();
  return run_controller(std::move(options));
}

}  // namespace
}  // namespace holdfast::app

int main(int argc, char** argv) {
  return holdfast::app::main(argc, argv);
}

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
#include <fstream>
#include <iostream>
#include <random>
#include <span>

#include "app/controller.h"
#include "app/paths.h"
#include "app/self_description.h"
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
  return (*controller)->failure().ok() ? 0 : kExitFailed;
}

struct DaemonOptions {
  ControllerOptions controller;
  std::string store = "sqlite";
  rpc::TlsFiles etcd_tls;
  std::string etcd_password_file;
  std::string log_level = "info";
};

void add_store_options(CLI::App& command, DaemonOptions& options) {
  store::EtcdOptions& etcd = options.controller.etcd;
  command.add_option("--store", options.store, "etcd, memory (nothing is kept), or sqlite")
      ->check(CLI::IsMember({"sqlite", "etcd", "memory"}))
      ->envname("HOLDFAST_STORE")
      ->capture_default_str();
  command.add_option("--etcd-endpoint", etcd.endpoints, "HOST:PORT of a member; may repeat")
      ->envname("HOLDFAST_ETCD_ENDPOINTS")
      ->delimiter(',');
  command.add_option("--etcd-ca", options.etcd_tls.ca, "PEM file of etcd's CA; turns TLS on");
  command.add_option("--etcd-cert", options.etcd_tls.certificate, "PEM file to identify with");
  command.add_option("--etcd-key", options.etcd_tls.private_key, "PEM file of its private key");
  command.add_option("--etcd-user", etcd.username, "etcd user");
  command.add_option("--etcd-password-file", options.etcd_password_file,
                     "file that holds the user's password");
}

void add_options(CLI::App& app, DaemonOptions& options) {
  CLI::App* controller = app.add_subcommand("controller", "run a controller");
  controller
      ->add_option("--data-dir", options.controller.data_dir, "where the store and the socket live")
      ->envname("HOLDFAST_DATA_DIR")
      ->capture_default_str();
  controller
      ->add_option("--listen", options.controller.listen,
                   "also serve on a loopback address, as 127.0.0.1:7443; port 0 picks one")
      ->envname("HOLDFAST_LISTEN")
      ->delimiter(',');
  add_store_options(*controller, options);
  app.add_option("--log-level", options.log_level, "debug, info, warn or error")
      ->envname("HOLDFAST_LOG_LEVEL")
      ->capture_default_str();
}

// What the options say, and the files they name.
Status complete(DaemonOptions& options) {
  if (options.store == "etcd") options.controller.store = StoreType::Etcd;
  if (options.store == "memory") options.controller.store = StoreType::Memory;
  store::EtcdOptions& etcd = options.controller.etcd;
  if (!options.etcd_tls.ca.empty() || !options.etcd_tls.certificate.empty()) {
    TRY(etcd.tls, rpc::load_tls(options.etcd_tls));
  }
  if (!options.etcd_password_file.empty()) {
    std::ifstream file(options.etcd_password_file);
    if (!std::getline(file, etcd.password)) {
      return absl::InvalidArgumentError("cannot read " + options.etcd_password_file);
    }
  }
  etcd.seed = std::random_device{}();
  return absl::OkStatus();
}

int main(int argc, char** argv) {
  CLI::App app{
      "holdfastd keeps a fleet reachable. It runs one role:\n"
      "  holdfastd controller     holds the truth: resources, events, API\n"};
  app.set_version_flag("--version", "holdfastd " HF_VERSION);
  app.require_subcommand(1);
  app.fallthrough();
  DaemonOptions options;
  options.controller.data_dir = default_data_dir();
  add_options(app, options);
  const std::span<char* const> words(argv + 1, argv + argc);
  if (const auto exit = describe_itself(app, {"holdfastd", 8, HF_VERSION}, words)) return *exit;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
  }

  log::Level level = log::Level::Info;
  if (!log::parse_level(options.log_level, level)) {
    std::cerr << "holdfastd: --log-level " << options.log_level
              << ": use debug, info, warn or error\n";
    return kExitUsage;
  }
  log::configure(level, isatty(STDERR_FILENO) != 0 ? log::Format::Logfmt : log::Format::Json);
  const Status completed = complete(options);
  if (!completed.ok()) {
    std::cerr << "holdfastd: " << completed.message() << "\n";
    return kExitFailed;
  }
  std::signal(SIGPIPE, SIG_IGN);
  umask(0077);
  raise_descriptor_limit();
  return run_controller(std::move(options.controller));
}

}  // namespace
}  // namespace holdfast::app

int main(int argc, char** argv) {
  return holdfast::app::main(argc, argv);
}

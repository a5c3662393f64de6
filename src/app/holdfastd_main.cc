// holdfastd: the daemon. Reads its configuration, builds one role, runs it until it is told to
// stop.
#include <grpc/support/log.h>
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
#include <span>

#include "app/controller.h"
#include "app/daemon_config.h"
#include "app/node_role.h"
#include "app/sd_notify.h"
#include "app/self_description.h"
#include "app/supervisor.h"
#include "base/allocator.h"
#include "base/check.h"
#include "base/log.h"
#include "base/reason.h"
#include "net/task_group.h"

namespace holdfast::app {
namespace {

constexpr int kExitFailed = 1;
constexpr int kExitUsage = 64;
constexpr int kExitBadConfig = 78;

void configure_log(const config::LogConfig& config) {
  log::Level level = log::Level::Info;
  HF_CHECK(log::parse_level(config.level, level), "the configuration was validated");
  const bool people = config.format == config::LogFormat::Logfmt ||
                      (config.format == config::LogFormat::Auto && isatty(STDERR_FILENO) != 0);
  log::configure(level, people ? log::Format::Logfmt : log::Format::Json);
}

// A configuration that is wrong changes nothing, and shows.
void reload(const DaemonConfig& sources, const config::Loaded& running, Controller& controller) {
  const Result<config::Loaded> next = sources.load();
  if (!next.ok()) {
    log::error("the configuration is wrong; the old one stays",
               {{"code", "HF6001"}, {"why", std::string(next.status().message())}});
    return controller.on_configuration(coded(absl::StatusCode::kFailedPrecondition, "HF6001",
                                             "the configuration file is wrong; the old one runs"));
  }
  configure_log(next->config.log);
  const config::Changes changes = config::changes(running, *next);
  log::info("configuration read again",
            {{"need_restart", fmt::format("{}", fmt::join(changes.need_restart, ","))}});
  controller.on_configuration(absl::OkStatus());
}

asio::awaitable<void> obey_signals(asio::io_context& loop, const DaemonConfig& sources,
                                   const config::Loaded& running, Controller& controller) {
  net::TaskGroup watchdog(loop.get_executor());
  if (const auto period = watchdog_period()) watchdog.spawn(feed_watchdog(*period));
  asio::signal_set signals(loop, SIGINT, SIGTERM, SIGHUP);
  for (;;) {
    const auto [error, number] = co_await signals.async_wait(asio::as_tuple(asio::use_awaitable));
    if (!error && number == SIGHUP) {
      reload(sources, running, controller);
      continue;
    }
    if (!error) log::info("stopping", {{"signal", number}});
    break;
  }
  tell_systemd("STOPPING=1");
  co_await controller.stop();
  co_await watchdog.join();
}

// Connections are file descriptors; the soft limit is only a default.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

Result<std::unique_ptr<Controller>> start_controller(asio::io_context& loop, const Clock& clock,
                                                     const config::ControllerConfig& config) {
  TRY(ControllerOptions options, controller_options(config));
  options.version = HF_VERSION;
  return Controller::start(loop, clock, std::move(options));
}

int run_controller(const DaemonConfig& sources, const config::Loaded& loaded) {
  const SystemClock clock;
  asio::io_context loop{1};
  Result<std::unique_ptr<Controller>> controller = start_controller(loop, clock, loaded.config);
  if (!controller.ok()) {
    std::cerr << "holdfastd: " << controller.status().message() << "\n";
    return kExitFailed;
  }
  for (const std::string& address : (*controller)->addresses()) {
    log::info("controller ready", {{"address", address}});
  }
  tell_systemd("READY=1");
  asio::co_spawn(loop, obey_signals(loop, sources, loaded, **controller),
                 [](const std::exception_ptr& thrown) {
                   HF_CHECK(thrown == nullptr, "stopping does not throw");
                 });
  loop.run();
  log::info("stopped");
  return (*controller)->failure().ok() ? 0 : kExitFailed;
}

void add_node_role(CLI::App& app, const char* role, const char* help, NodeRole& options) {
  CLI::App* command = app.add_subcommand(role, help);
  command->add_option("--data-dir", options.data_dir, "where `holdfast join` put the identity");
  command
      ->add_option("--server", options.servers,
                   "controller, as HOST:PORT; may repeat, and take several with commas between "
                   "them (default: the one that was joined)")
      ->delimiter(',');
  command->add_option("--listen", options.listen,
                      "HOST:PORT for /healthz, /readyz and /metrics (default: only on the socket)");
  command->footer(
      "It announces that it is there, keeps its certificate fresh, keeps to a healthy\n"
      "controller, and serves a copy of what the controllers have on DATA_DIR/node.sock,\n"
      "also when no controller is left. Tunnels are not part of this version: it carries\n"
      "no traffic yet.");
}

int main(int argc, char** argv) {
  CLI::App app{
      "holdfastd keeps a fleet reachable. It runs one role:\n"
      "  holdfastd controller     holds the truth: resources, events, identities, API\n"
      "  holdfastd proxy          will carry clients to agents; today it is present\n"
      "  holdfastd agent          will carry proxies to services; today it is present\n"};
  app.set_version_flag("--version", "holdfastd " HF_VERSION);
  app.require_subcommand(1);
  app.fallthrough();
  DaemonConfig sources;
  sources.add_options(app, *app.add_subcommand("controller", "run a controller"));
  NodeRole node{.version = HF_VERSION};
  add_node_role(app, "proxy", "run a proxy (presence, identity and cache; no tunnels yet)", node);
  add_node_role(app, "agent", "run an agent (presence, identity and cache; no tunnels yet)", node);
  const std::span<char* const> words(argv + 1, argv + argc);
  if (const auto exit = describe_itself(app, {"holdfastd", 8, HF_VERSION}, words)) return *exit;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
  }
  const Result<config::Loaded> loaded = sources.load();
  if (!loaded.ok()) {
    std::cerr << loaded.status().message() << "\n";
    return kExitBadConfig;
  }
  configure_log(loaded->config.log);
  for (const config::Problem& warning : loaded->warnings) {
    log::warn("configuration", {{"warning", warning.message}});
  }
  // gRPC's own lines are for its developers, and strangers can cause them at will.
  gpr_set_log_function([](gpr_log_func_args* line) {
    log::debug("grpc", {{"file", line->file}, {"what", line->message}});
  });
  std::signal(SIGPIPE, SIG_IGN);
  umask(0077);
  raise_descriptor_limit();
  if (app.got_subcommand("controller")) return run_controller(sources, *loaded);
  node.role = app.got_subcommand("proxy") ? identity::Role::Proxy : identity::Role::Agent;
  if (node.data_dir.empty()) node.data_dir = loaded->config.controller.data_dir;
  return run_node(node);
}

}  // namespace
}  // namespace holdfast::app

int main(int argc, char** argv) {
  holdfast::free_memory_evenly();
  return holdfast::app::main(argc, argv);
}

// holdfastd: the daemon. Reads its configuration, builds one role, runs it until it is told to
// stop.
#include <fmt/format.h>
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
#include "app/exit_status.h"
#include "app/injector_role.h"
#include "app/log_config.h"
#include "app/node_role.h"
#include "app/probe_role.h"
#include "app/sd_notify.h"
#include "app/self_description.h"
#include "app/supervisor.h"
#include "app/track_verbs.h"
#include "app/witness_role.h"
#include "base/allocator.h"
#include "base/check.h"
#include "base/log.h"
#include "base/reason.h"
#include "net/task_group.h"
#include "net/tls_context.h"

namespace holdfast::app {
namespace {

constexpr int kExitUsage = 64;

// A configuration that is wrong changes nothing, and shows.
void reload(const DaemonConfig& sources, const config::Loaded& running, Controller& controller) {
  const Result<config::Loaded> next = sources.load(config::Role::Controller);
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

asio::awaitable<void> obey_signals(asio::signal_set& signals, const DaemonConfig& sources,
                                   const config::Loaded& running, Controller& controller) {
  net::TaskGroup watchdog(signals.get_executor());
  if (const auto period = watchdog_period()) watchdog.spawn(feed_watchdog(*period));
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
  // Before anything is opened: who is told to stop while it starts stops in good order.
  asio::signal_set signals(loop, SIGINT, SIGTERM, SIGHUP);
  Result<std::unique_ptr<Controller>> controller = start_controller(loop, clock, loaded.config);
  if (!controller.ok()) {
    std::cerr << "holdfastd: " << controller.status().message() << "\n";
    return absl::IsInvalidArgument(controller.status()) ? kExitBadConfig : kExitFailed;
  }
  for (const std::string& address : (*controller)->addresses()) {
    log::info("controller ready", {{"address", address}});
  }
  tell_systemd("READY=1");
  asio::co_spawn(loop, obey_signals(signals, sources, loaded, **controller),
                 [](const std::exception_ptr& thrown) {
                   HF_CHECK(thrown == nullptr, "stopping does not throw");
                 });
  loop.run();
  log::info("stopped");
  return (*controller)->failure().ok() ? 0 : kExitFailed;
}

constexpr const char* kSameEverywhere =
    "Every option is a key of the configuration file and a HOLDFAST_ variable too; flags win\n"
    "over variables, these over the file. See them all: holdfast config show --effective";

constexpr const char* kProbeHelp =
    R"(The kubelet asks this port, and the handler asks the application as the kubelet
would: HTTP, HTTPS, HTTP/2, TCP and gRPC. It needs no identity and no controller.
The list of probes is JSON, in HOLDFAST_DATAPLANE_PROBES, KUMA_DATAPLANE_PROBES
or --registry-file; what is not in it cannot be reached. `holdfast inject` writes it.
  HOLDFAST_DATAPLANE_PROBES='[{"httpGet":{"path":"/healthz","port":8080}},
    {"tcpSocket":{"port":6379}},{"grpc":{"port":9090}}]' holdfastd probe
  curl -i localhost:9000/8080/healthz    200 healthy, 503 not, and why
  curl -i localhost:9000/tcp/6379
  curl -i localhost:9000/grpc/9090
  curl -i localhost:9000/healthz         the handler itself
SIGHUP reads the list again. docs/probes.md has every answer.
)";

struct RoleHelp {
  config::Role role;
  const char* name;
  const char* summary;
  std::string footer;
};

std::vector<RoleHelp> roles() {
  return {
      {config::Role::Controller, "controller", "run a controller", kSameEverywhere},
      {config::Role::Proxy, "proxy", "run a proxy: takes clients, and the tunnels of agents",
       fmt::format("It takes tunnels from agents, links to the other proxies, and carries clients\n"
                   "to services: over HTTPS CONNECT with a user's certificate, and on each\n"
                   "--ingress. SIGTERM drains it: it is announced, agents move first, running\n"
                   "connections get --drain-timeout; a second signal ends them at once.\n"
                   "SIGHUP reads the file again.\n{} --role proxy",
                   kSameEverywhere)},
      {config::Role::Agent, "agent", "run an agent: exposes services through tunnels it dials",
       fmt::format("It dials out to proxies, keeps tunnels to as many as the cluster wants, and\n"
                   "connects what comes through them to the targets of --service, and to nothing\n"
                   "else. It needs no open port. SIGHUP reads services and labels again.\n"
                   "  holdfastd agent --service web=127.0.0.1:8080 --label app=shop\n"
                   "{} --role agent",
                   kSameEverywhere)},
      {config::Role::Witness, "witness", "keep the record of a pair of controllers",
       fmt::format("One small record, changed by compare-and-set only, says which of the two\n"
                   "controllers is active and whose disk has everything. It joins with a token of\n"
                   "the role witness; an agent or proxy with --witness-listen does the same.\n"
                   "{} --role witness",
                   kSameEverywhere)},
      {config::Role::Probe, "probe", "make the probes of a pod, behind one HTTP port",
       fmt::format("{}{} --role probe", kProbeHelp, kSameEverywhere)},
      {config::Role::Injector, "injector", "translate the probes of new pods for API servers",
       fmt::format(
           "A mutating admission webhook: POST /inject over TLS. Certificate and key are\n"
           "read again when their files change, and on SIGHUP; a pair that does not fit is\n"
           "not used. `holdfast install k8s --print` has the manifests.\n"
           "{} --role injector",
           kSameEverywhere)},
  };
}

config::Role chosen_role(const CLI::App& app) {
  if (app.got_subcommand("controller")) return config::Role::Controller;
  if (app.got_subcommand("witness")) return config::Role::Witness;
  if (app.got_subcommand("probe")) return config::Role::Probe;
  if (app.got_subcommand("injector")) return config::Role::Injector;
  return app.got_subcommand("proxy") ? config::Role::Proxy : config::Role::Agent;
}

int run_role(const DaemonConfig& sources, const config::Loaded& loaded) {
  if (loaded.role == config::Role::Controller) return run_controller(sources, loaded);
  if (loaded.role == config::Role::Witness) return run_witness(loaded, HF_VERSION);
  if (loaded.role == config::Role::Probe) {
    return run_probe({.loaded = loaded,
                      .reload = [&] { return sources.load(loaded.role); },
                      .version = HF_VERSION});
  }
  if (loaded.role == config::Role::Injector) {
    return run_injector({.loaded = loaded,
                         .reload = [&] { return sources.load(loaded.role); },
                         .version = HF_VERSION});
  }
  return run_node({.loaded = loaded,
                   .reload = [&] { return sources.load(loaded.role); },
                   .version = HF_VERSION});
}

int main(int argc, char** argv) {
  CLI::App app{
      "holdfastd keeps a fleet reachable. It runs one role:\n"
      "  holdfastd controller     holds the truth: resources, events, identities, API\n"
      "  holdfastd proxy          takes clients, and the tunnels of agents\n"
      "  holdfastd agent          exposes services through tunnels that it dials\n"
      "  holdfastd witness        keeps the record of a pair of controllers\n"
      "  holdfastd probe          makes the probes of a pod, behind one HTTP port\n"
      "  holdfastd injector       translates the probes of new pods for API servers\n"
      "or, beside an agent:\n"
      "  holdfastd track          loads what counts connections in the kernel, and more\n"};
  app.set_version_flag("--version", "holdfastd " HF_VERSION);
  app.require_subcommand(1);
  app.fallthrough();
  DaemonConfig sources;
  sources.add_options(app);
  for (const RoleHelp& role : roles()) {
    CLI::App* command = app.add_subcommand(role.name, role.summary);
    sources.add_role(*command, role.role);
    command->footer(role.footer);
  }
  const TrackVerbs track(app, sources);
  const std::span<char* const> words(argv + 1, argv + argc);
  if (const auto exit = describe_itself(app, {"holdfastd", 8, HF_VERSION}, words)) return *exit;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
  }
  const Result<config::Loaded> loaded = sources.load(chosen_role(app));
  if (!loaded.ok()) {
    std::cerr << loaded.status().message() << "\n";
    return kExitBadConfig;
  }
  if (track.parsed()) return track.run(loaded->config.agent.tracking);
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
  return run_role(sources, *loaded);
}

}  // namespace
}  // namespace holdfast::app

int main(int argc, char** argv) {
  holdfast::net::keep_tls_until_exit();
  holdfast::free_memory_evenly();
  return holdfast::app::main(argc, argv);
}

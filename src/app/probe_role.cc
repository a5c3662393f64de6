#include "app/probe_role.h"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <csignal>
#include <iostream>

#include "app/exit_status.h"
#include "app/handler_limits.h"
#include "app/log_config.h"
#include "app/probe_registry.h"
#include "app/sd_notify.h"
#include "app/supervisor.h"
#include "base/check.h"
#include "base/log.h"
#include "base/reason.h"
#include "net/task_group.h"
#include "probe/handler_server.h"

namespace holdfast::app {
namespace {

// With what is to be said of it.
Result<probe::Registry> list_probes(const config::ProbeSection& config) {
  TRY(probe::ChosenRegistry chosen, read_registry(config));
  log_registry(chosen);
  return std::move(chosen.registry);
}

Status with_next_step(const Status& failed, const char* flag) {
  const Reason reason = split_reason(failed);
  return coded(failed.code(), reason.code,
               fmt::format("{}; another process of the pod may have this port: give the handler "
                           "another with {} IP:PORT, and the pod the annotation "
                           "holdfast.dev/virtual-probes-port with the same port",
                           reason.message, flag));
}

Status listen(probe::HandlerServer& handler, const config::ProbeSection& config) {
  const Result<std::string> address = handler.listen(handler_address(config.listen));
  if (!address.ok()) return with_next_step(address.status(), "--listen");
  log::info("probe handler serves", {{"address", *address}, {"probes_go_to", config.address}});
  if (config.health_listen.empty()) return absl::OkStatus();
  TRY(const std::string health, handler.listen_for_health(config.health_listen));
  log::info("probe handler serves health and metrics", {{"address", health}});
  return absl::OkStatus();
}

// What is wrong changes nothing, and shows.
void reload_probe(const ProbeRole& role, probe::HandlerServer& handler) {
  const Result<config::Loaded> next = role.reload();
  const Result<probe::Registry> registry =
      next.ok() ? list_probes(next->config.probe) : Result<probe::Registry>(next.status());
  if (!registry.ok()) {
    log::error("the list of probes is wrong; the old one stays",
               {{"code", "HF7054"}, {"why", std::string(registry.status().message())}});
    return;
  }
  configure_log(next->config.log);
  handler.use(*registry);
  log::info("list of probes read again", {{"probes", registry->probes().size()}});
}

asio::awaitable<void> run_probe_until_told(asio::signal_set& signals, const ProbeRole& role,
                                           probe::HandlerServer& handler) {
  net::TaskGroup watchdog(signals.get_executor());
  if (const auto period = watchdog_period()) watchdog.spawn(feed_watchdog(*period));
  tell_systemd("READY=1");
  for (;;) {
    const auto [error, number] = co_await signals.async_wait(asio::as_tuple(asio::use_awaitable));
    if (!error && number == SIGHUP) {
      reload_probe(role, handler);
      continue;
    }
    if (!error) log::info("stopping", {{"signal", number}});
    break;
  }
  tell_systemd("STOPPING=1");
  co_await handler.stop();
  co_await watchdog.join();
}

}  // namespace

int run_probe(const ProbeRole& role) {
  const config::ProbeSection& config = role.loaded.config.probe;
  Result<probe::Registry> registry = list_probes(config);
  if (!registry.ok()) return exit_with(registry.status(), kExitBadConfig);
  const SystemClock clock;
  asio::io_context loop{1};
  asio::signal_set signals(loop, SIGINT, SIGTERM, SIGHUP);  // before anything is opened
  metrics::Registry metrics({.version = role.version, .max_series = probe::kMaxSeries});
  probe::ProberService prober(
      loop.get_executor(),
      {.address = config.address, .source = config.source, .max_running = config.limits.running});
  probe::HandlerServer handler(loop.get_executor(),
                               {.clock = clock, .metrics = metrics, .prober = prober},
                               handler_options(config));
  handler.use(*std::move(registry));
  const Status listening = listen(handler, config);
  asio::co_spawn(loop,
                 listening.ok() ? run_probe_until_told(signals, role, handler) : handler.stop(),
                 [](const std::exception_ptr& thrown) {
                   HF_CHECK(thrown == nullptr, "stopping does not throw");
                 });
  loop.run();
  if (!listening.ok()) return exit_with(listening, kExitFailed);
  log::info("stopped");
  return 0;
}

}  // namespace holdfast::app

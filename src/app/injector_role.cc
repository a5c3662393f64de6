#include "app/injector_role.h"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <iostream>

#include "app/exit_status.h"
#include "app/injector.h"
#include "app/log_config.h"
#include "app/sd_notify.h"
#include "app/supervisor.h"
#include "base/check.h"
#include "base/log.h"
#include "base/reason.h"

namespace holdfast::app {
namespace {

// A configuration that is wrong changes nothing, and shows.
void reload_injector(const InjectorRole& role, Injector& injector) {
  injector.look();
  const Result<config::Loaded> next = role.reload();
  if (!next.ok()) {
    log::error("the configuration is wrong; the old one stays",
               {{"code", "HF6001"}, {"why", std::string(next.status().message())}});
    return injector.on_configuration(coded(absl::StatusCode::kFailedPrecondition, "HF6001",
                                           "the configuration file is wrong; the old one runs"));
  }
  configure_log(next->config.log);
  const config::Changes changes = config::changes(role.loaded, *next);
  log::info("configuration read again",
            {{"need_restart", fmt::format("{}", fmt::join(changes.need_restart, ","))}});
  injector.on_configuration(absl::OkStatus());
}

// Until the time is over, or another signal comes.
asio::awaitable<void> leave(asio::signal_set& signals, Injector& injector, Duration delay) {
  using namespace asio::experimental::awaitable_operators;
  if (delay <= Duration::zero()) co_return;
  injector.say_goodbye();
  co_await (net::pause(delay) || signals.async_wait(asio::as_tuple(asio::use_awaitable)));
}

asio::awaitable<void> run_injector_until_told(asio::signal_set& signals, const InjectorRole& role,
                                              Injector& injector) {
  net::TaskGroup watchdog(signals.get_executor());
  if (const auto period = watchdog_period()) watchdog.spawn(feed_watchdog(*period));
  injector.start();
  tell_systemd("READY=1");
  for (;;) {
    const auto [error, number] = co_await signals.async_wait(asio::as_tuple(asio::use_awaitable));
    if (!error && number == SIGHUP) {
      reload_injector(role, injector);
      continue;
    }
    if (!error) log::info("stopping", {{"signal", number}});
    break;
  }
  tell_systemd("STOPPING=1");
  co_await leave(signals, injector, role.loaded.config.injector.stop_delay);
  co_await injector.stop();
  co_await watchdog.join();
}

}  // namespace

int run_injector(const InjectorRole& role) {
  const SystemClock clock;
  asio::io_context loop{1};
  asio::signal_set signals(loop, SIGINT, SIGTERM, SIGHUP);  // before anything is opened
  Injector injector(loop.get_executor(), clock, role.loaded.config.injector, role.version);
  const Result<std::vector<std::string>> addresses = injector.listen();
  asio::co_spawn(
      loop, addresses.ok() ? run_injector_until_told(signals, role, injector) : injector.stop(),
      [](const std::exception_ptr& thrown) {
        HF_CHECK(thrown == nullptr, "stopping does not throw");
      });
  if (addresses.ok()) {
    for (const std::string& address : *addresses) {
      log::info("injector serves", {{"address", address}});
    }
  } else {
    std::cerr << "holdfastd: " << addresses.status().message() << "\n";
  }
  loop.run();
  log::info("stopped");
  return addresses.ok() ? 0 : kExitFailed;
}

}  // namespace holdfast::app

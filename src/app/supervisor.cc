#include "app/supervisor.h"

#include "app/sd_notify.h"
#include "base/log.h"
#include "net/task_group.h"

namespace holdfast::app {

void tell_systemd(std::string_view state) {
  const Status told = sd_notify(state);
  if (!told.ok()) log::warn("systemd was not told", {{"why", told.ToString()}});
}

asio::awaitable<void> feed_watchdog(Duration period) {
  do tell_systemd("WATCHDOG=1");
  while (co_await net::pause(period));
}

}  // namespace holdfast::app

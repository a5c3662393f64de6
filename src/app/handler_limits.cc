#include "app/handler_limits.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "base/log.h"
#include "probe/handler_server.h"

namespace holdfast::app {
namespace {

constexpr std::string_view kEverywhere = "[::]:";

bool has_ipv6() {
  const int socket = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return false;
  ::close(socket);
  return true;
}

}  // namespace

std::string handler_address(const std::string& wanted) {
  return handler_address(wanted, has_ipv6());
}

std::string handler_address(const std::string& wanted, bool ipv6) {
  if (ipv6 || !wanted.starts_with(kEverywhere)) return wanted;
  return "0.0.0.0:" + wanted.substr(kEverywhere.size());
}

net::HttpServerOptions handler_options(const config::ProbeSection& config) {
  net::HttpServerOptions options = probe::handler_http_options();
  options.max_connections = config.limits.connections;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return options;
  options.max_connections = fitting_connections(config.limits.connections, limit.rlim_cur);
  if (options.max_connections < config.limits.connections) {
    log::warn("fewer connections than configured: the limit of open files holds",
              {{"connections", options.max_connections}, {"open_files", limit.rlim_cur}});
  }
  return options;
}

// Each connection may need a second descriptor for its probe; a few are the process's own.
uint64_t fitting_connections(uint64_t wanted, uint64_t open_files) {
  constexpr uint64_t kOwn = 16;
  constexpr uint64_t kLeast = 8;
  const uint64_t half = open_files / 2;
  const uint64_t room = std::max(kLeast, half - std::min(half, kOwn));
  return std::min(room, wanted);
}

}  // namespace holdfast::app

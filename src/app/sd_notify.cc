#include "app/sd_notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

namespace holdfast::app {
namespace {

Status failed(const char* doing) {
  return absl::UnavailableError(std::string(doing) + ": " + std::strerror(errno));
}

std::optional<int64_t> number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  int64_t out = 0;
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, out);
  if (error != std::errc() || stop != end) return std::nullopt;
  return out;
}

}  // namespace

Status sd_notify(std::string_view state) {
  const char* named = std::getenv("NOTIFY_SOCKET");
  const std::string_view path = named != nullptr ? named : "";
  if (path.empty()) return absl::OkStatus();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path) || (path[0] != '/' && path[0] != '@')) {
    return absl::InvalidArgumentError("NOTIFY_SOCKET does not name a socket");
  }
  std::ranges::copy(path, address.sun_path);
  // An abstract socket begins with a NUL and has no other.
  if (path[0] == '@') address.sun_path[0] = '\0';
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() +
                                             (path[0] == '@' ? 0 : 1));
  const int descriptor = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return failed("telling systemd");
  const ssize_t sent = ::sendto(descriptor, state.data(), state.size(), MSG_NOSIGNAL,
                                reinterpret_cast<const sockaddr*>(&address), length);
  const Status status = sent < 0 ? failed("telling systemd") : absl::OkStatus();
  ::close(descriptor);
  return status;
}

std::optional<Duration> watchdog_period() {
  const auto allowed_us = number_in("WATCHDOG_USEC");
  const auto process = number_in("WATCHDOG_PID");
  if (!allowed_us || *allowed_us <= 1 || (process && *process != ::getpid())) return std::nullopt;
  return std::chrono::microseconds(*allowed_us / 2);
}

}  // namespace holdfast::app

#include "tunnel/target_dial_service.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <utility>
#include <vector>

#include "net/as_value.h"
#include "net/look_up.h"
#include "net/within.h"

namespace holdfast::tunnel {
namespace {

using net::StreamEndpoint;
using net::StreamSocket;

using net::kAsValue;

// An application whose machine is gone is noticed after two minutes of silence.
constexpr int kKeepaliveIdleSeconds = 60;
constexpr int kKeepaliveSeconds = 15;
constexpr int kKeepaliveMisses = 4;

Status late(const std::string& what) {
  return absl::DeadlineExceededError(fmt::format("{} does not answer", what));
}

void set_keepalive(StreamSocket& socket) {
  const auto set = [&](int level, int name, int value) {
    ::setsockopt(socket.native_handle(), level, name, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kKeepaliveIdleSeconds);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kKeepaliveSeconds);
  set(IPPROTO_TCP, TCP_KEEPCNT, kKeepaliveMisses);
}

asio::awaitable<Result<StreamSocket>> connect(StreamEndpoint endpoint) {
  StreamSocket socket(co_await asio::this_coro::executor);
  const auto [error] = co_await socket.async_connect(endpoint, kAsValue);
  if (error) co_return absl::UnavailableError(error.message());
  boost::system::error_code ignored;
  const int family = endpoint.protocol().family();
  if (family != AF_UNIX) {
    socket.set_option(asio::ip::tcp::no_delay(true), ignored);
    set_keepalive(socket);
  }
  socket.native_non_blocking(true, ignored);
  if (ignored) co_return absl::UnavailableError(ignored.message());
  co_return socket;
}

}  // namespace

asio::awaitable<Result<StreamSocket>> dial_target(Target target, Duration timeout) {
  const auto now = [] { return std::chrono::steady_clock::now(); };
  const std::string name = to_string(target);
  const auto deadline = now() + timeout;
  const Result<std::vector<StreamEndpoint>> endpoints = co_await net::look_up(name, timeout);
  if (!endpoints.ok()) co_return annotate(endpoints.status(), name);
  Status last = absl::UnavailableError(fmt::format("{} has no address", name));
  for (size_t at = 0; at < endpoints->size(); ++at) {
    const Duration left = deadline - now();
    if (left <= Duration::zero()) co_return late(name);
    const Duration share = left / static_cast<int64_t>(endpoints->size() - at);
    Result<StreamSocket> socket =
        co_await net::within(share, connect((*endpoints)[at]), late("one of its addresses"));
    if (socket.ok()) co_return socket;
    last = annotate(socket.status(), name);
    const bool unwanted = co_await net::is_cancelled();
    if (unwanted) co_return absl::CancelledError("no longer wanted");
  }
  co_return last;
}

}  // namespace holdfast::tunnel

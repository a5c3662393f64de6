#include "ingress/client_service.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <boost/asio/experimental/awaitable_operators.hpp>

#include <array>

#include "base/reason.h"
#include "net/task_group.h"
#include "net/within.h"

namespace holdfast::ingress {
namespace {

constexpr std::chrono::milliseconds kLookPeriod(100);
constexpr size_t kMaxDiscardedBytes = 256 << 10;

enum class Presence { There, SendsNoMore, Gone };

// By the kernel's word, without reading: what the client sends is for the service.
Presence presence_of(const Waiting& client) {
  tcp_info info = {};
  socklen_t size = sizeof(info);
  if (::getsockopt(client.socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return Presence::Gone;
  if (info.tcpi_state == TCP_CLOSE) return Presence::Gone;
  if (info.tcpi_state != TCP_CLOSE_WAIT) return Presence::There;
  if (client.tls) return Presence::Gone;
  int unread = 0;
  if (::ioctl(client.socket, FIONREAD, &unread) != 0) return Presence::Gone;
  return unread > 0 ? Presence::There : Presence::SendsNoMore;
}

// Returns when the client has gone, or it is cancelled.
asio::awaitable<void> until_gone(const IngressShared& shared, Waiting client) {
  Duration silent{0};
  while (silent < shared.options.half_closed_patience) {
    const bool waited = co_await net::pause(kLookPeriod);
    if (!waited) co_return;
    const Presence presence = presence_of(client);
    if (presence == Presence::Gone) co_return;
    silent = presence == Presence::There ? Duration(0) : silent + kLookPeriod;
  }
}

asio::awaitable<Status> discard(net::HttpStream& stream) {
  std::array<char, 4'096> bytes;
  co_await stream.finish();
  for (size_t total = 0; total < kMaxDiscardedBytes;) {
    CO_TRY(const size_t count, co_await stream.read_some(bytes));
    if (count == 0) break;
    total += count;
  }
  co_return absl::OkStatus();
}

}  // namespace

asio::awaitable<Result<tunnel::Reached>> dial_for(IngressShared& shared, tunnel::Wanted wanted,
                                                  std::unique_ptr<tunnel::StreamEnd>& end,
                                                  Waiting client) {
  using namespace asio::experimental::awaitable_operators;
  const Time begun = shared.parts.clock.now();
  const Status late =
      coded(absl::StatusCode::kDeadlineExceeded, "HF2204", "the service was not reached in time");
  auto first = co_await (
      net::within(shared.options.dial_timeout, shared.parts.dialer.dial(wanted, end), late) ||
      net::ending_by_value(until_gone(shared, client)));
  if (first.index() != 0) {
    co_return coded(absl::StatusCode::kCancelled, "HF2307", "the client has gone");
  }
  const Duration took = shared.parts.clock.now() - begun;
  shared.metrics->dial_seconds.observe(std::chrono::duration<double>(took).count());
  co_return std::get<0>(std::move(first));
}

std::string head_of(const IngressShared& shared, const net::HttpResponse& response) {
  const std::string date = net::http_date(shared.parts.clock.wall_now());
  return format_head(response, {.close = true, .date = date});
}

asio::awaitable<void> linger(IngressShared& shared, net::HttpStream& stream) {
  const Status ignored = co_await net::within(shared.options.linger, discard(stream),
                                              absl::DeadlineExceededError("lingered"));
  stream.close();
}

}  // namespace holdfast::ingress

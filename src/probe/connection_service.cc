#include "probe/connection_service.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <array>
#include <cerrno>
#include <system_error>
#include <vector>

#include "net/as_value.h"
#include "net/http_address.h"
#include "net/look_up.h"

namespace holdfast::probe {
namespace {

using asio::ip::tcp;

using net::kAsValue;
constexpr size_t kReadBytes = 16 * 1024;

Status failed(int error) {
  return absl::UnavailableError(std::generic_category().message(error));
}

Status too_late() {
  return absl::DeadlineExceededError("no answer in time");
}

// Closing resets the connection: no TIME_WAIT here, and close() never waits.
void reset_on_close(int socket) {
  const linger at_once = {.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

// An address of the other family cannot be the source.
bool bind_to(int socket, int family, const std::string& source) {
  boost::system::error_code error;
  const auto address = asio::ip::make_address(source, error);
  if (error) return false;
  const tcp::endpoint from(address, 0);
  if (from.data()->sa_family != family) return true;
  const int late = 1;  // the port is chosen when it connects, so that all of them can be used
  ::setsockopt(socket, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &late, sizeof late);
  return ::bind(socket, from.data(), static_cast<socklen_t>(from.size())) == 0;
}

}  // namespace

Connection::Connection(const asio::any_io_executor& loop, Deadlines& deadlines, Duration timeout)
    : deadlines_(deadlines), deadline_(std::chrono::steady_clock::now() + timeout), socket_(loop) {
  deadlines_.add(deadline_, *this);
}

Connection::~Connection() {
  deadlines_.remove(deadline_, *this);
  close();
}

void Connection::close() {
  tls_.reset();
  boost::system::error_code ignored;  // closed either way
  socket_.close(ignored);
}

void Connection::close_soon() {
  if (socket_.is_open()) asio::post(socket_.get_executor(), [old = std::move(socket_)] {});
}

void Connection::expire() {
  expired_ = true;
  boost::system::error_code ignored;  // closed either way
  socket_.close(ignored);
}

Duration Connection::time_left() const {
  return std::max(Duration::zero(), Duration(deadline_ - std::chrono::steady_clock::now()));
}

Status Connection::is_over(const asio::cancellation_state& state) const {
  if (expired_) return too_late();
  if (state.cancelled() == asio::cancellation_type::none) return absl::OkStatus();
  return absl::CancelledError("cancelled");
}

asio::awaitable<Status> Connection::wait(asio::socket_base::wait_type direction) {
  const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
  CO_TRY_OK(is_over(state));
  const auto [error] = co_await socket_.async_wait(direction, kAsValue);
  CO_TRY_OK(is_over(state));
  if (error) co_return absl::UnavailableError(error.message());
  co_return absl::OkStatus();
}

asio::awaitable<bool> Connection::pause(Duration duration) {
  asio::steady_timer timer(socket_.get_executor(), std::min(duration, time_left()));
  const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
  if (!is_over(state).ok()) co_return false;
  co_await timer.async_wait(kAsValue);
  co_return is_over(state).ok() && time_left() > Duration::zero();
}

// The kernel finishes a connection on its own machine before the call returns, or soon after.
Status Connection::start(const Endpoint& to, const Way& way) {
  close();
  boost::system::error_code error;
  socket_.open(to.protocol(), error);
  if (!error) socket_.native_non_blocking(true, error);
  if (error) return absl::UnavailableError(error.message());
  const int socket = socket_.native_handle();
  reset_on_close(socket);
  if (!way.source.empty() && !bind_to(socket, to.data()->sa_family, way.source)) {
    return failed(errno);
  }
  if (::connect(socket, to.data(), static_cast<socklen_t>(to.size())) == 0) {
    return absl::OkStatus();
  }
  return errno == EINPROGRESS ? absl::OkStatus() : failed(errno);
}

asio::awaitable<Status> Connection::connect(Endpoint to, Way way) {
  CO_TRY_OK(start(to, way));
  for (;;) {
    // Asking again says how far it is.
    const int result =
        ::connect(socket_.native_handle(), to.data(), static_cast<socklen_t>(to.size()));
    if (result == 0 || errno == EISCONN) co_return absl::OkStatus();
    if (errno != EALREADY && errno != EINPROGRESS) co_return failed(errno);
    CO_TRY_OK(co_await wait(asio::socket_base::wait_write));
  }
}

asio::awaitable<Status> Connection::open(const Way& way) {
  boost::system::error_code unknown;
  const auto address = asio::ip::make_address(way.host, unknown);
  return unknown ? open_by_name(way) : connect(tcp::endpoint(address, way.port), way);
}

std::optional<Status> Connection::begin(const Way& way) {
  boost::system::error_code unknown;
  const auto address = asio::ip::make_address(way.host, unknown);
  if (unknown) return std::nullopt;
  return start(tcp::endpoint(address, way.port), way);
}

asio::awaitable<Status> Connection::open_by_name(Way way) {
  const std::string name = net::join_host_port(way.host, std::to_string(way.port));
  const Result<std::vector<Endpoint>> found = co_await net::look_up(name, time_left());
  CO_TRY_OK(is_over(co_await asio::this_coro::cancellation_state));
  if (!found.ok()) co_return absl::UnavailableError(found.status().message());
  Status last = absl::UnavailableError("its name has no address");
  for (const Endpoint& endpoint : *found) {
    last = co_await connect(endpoint, way);
    const bool settled = last.ok() || !absl::IsUnavailable(last);
    if (settled) break;
  }
  co_return last;
}

asio::awaitable<Status> Connection::send_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_.native_handle(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
    } else if (errno == EAGAIN) {
      CO_TRY_OK(co_await wait(asio::socket_base::wait_write));
    } else if (errno != EINTR) {
      co_return failed(errno);
    }
  }
  co_return absl::OkStatus();
}

asio::awaitable<Result<size_t>> Connection::receive(std::span<char> into) {
  for (;;) {
    CO_TRY_OK(co_await wait(asio::socket_base::wait_read));
    const ssize_t count = ::recv(socket_.native_handle(), into.data(), into.size(), 0);
    if (count >= 0) co_return static_cast<size_t>(count);
    if (errno != EAGAIN && errno != EINTR) co_return failed(errno);
  }
}

asio::awaitable<Status> Connection::turn_tls() {
  const std::string output = tls_->output();
  CO_TRY_OK(co_await send_all(output));
  std::array<char, kReadBytes> some;
  CO_TRY(const size_t count, co_await receive(some));
  if (count == 0) {
    tls_->end();
  } else {
    tls_->put({some.data(), count});
  }
  co_return absl::OkStatus();
}

asio::awaitable<Status> Connection::secure(const UnverifiedTls& tls, const std::string& host,
                                           Offer offer) {
  tls_.emplace(tls, host, offer);
  for (;;) {
    CO_TRY(const bool done, tls_->handshake());
    if (done) co_return absl::OkStatus();
    CO_TRY_OK(co_await turn_tls());
  }
}

asio::awaitable<Status> Connection::write(std::string_view bytes) {
  return tls_ ? write_tls(bytes) : send_all(bytes);
}

asio::awaitable<Status> Connection::write_tls(std::string_view bytes) {
  CO_TRY_OK(tls_->write(bytes));
  const std::string output = tls_->output();
  co_return co_await send_all(output);
}

asio::awaitable<Result<size_t>> Connection::read(std::span<char> into) {
  return tls_ ? read_tls(into) : receive(into);
}

asio::awaitable<Result<size_t>> Connection::read_tls(std::span<char> into) {
  for (;;) {
    CO_TRY(const TlsBytes::Read some, tls_->read(into));
    if (some.count > 0 || some.end) co_return some.count;
    CO_TRY_OK(co_await turn_tls());
  }
}

}  // namespace holdfast::probe

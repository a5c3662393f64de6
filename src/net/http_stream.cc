#include "net/http_stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <cerrno>

#include "net/as_value.h"

namespace holdfast::net {
namespace {

class PlainStream final : public HttpStream {
 public:
  explicit PlainStream(StreamSocket socket) : socket_(std::move(socket)) {}

  asio::awaitable<Status> handshake() override { co_return absl::OkStatus(); }

  asio::awaitable<Result<size_t>> read_some(std::span<char> into) override {
    const auto [error, count] =
        co_await socket_.async_read_some(asio::buffer(into.data(), into.size()), kAsValue);
    if (error == asio::error::eof) co_return 0;
    if (error) co_return absl::UnavailableError(error.message());
    co_return count;
  }

  asio::awaitable<Status> write(std::string_view bytes) override {
    const auto [error, count] =
        co_await asio::async_write(socket_, asio::buffer(bytes.data(), bytes.size()), kAsValue);
    if (error) co_return absl::UnavailableError(error.message());
    co_return absl::OkStatus();
  }

  asio::awaitable<void> finish() override {
    boost::system::error_code ignored;  // the peer may be gone
    socket_.shutdown(StreamSocket::shutdown_send, ignored);
    co_return;
  }

  void close() override {
    boost::system::error_code ignored;  // closed either way
    socket_.close(ignored);
  }

  void reset() override { net::reset(socket_); }
  bool is_gone() override { return net::is_gone(socket_); }
  bool is_quiet() override { return nothing_to_read(socket_); }

  std::string chain_pem() const override { return {}; }

 private:
  StreamSocket socket_;
};

}  // namespace

bool nothing_to_read(int socket) {
  char next = 0;
  const ssize_t count = ::recv(socket, &next, 1, MSG_PEEK | MSG_DONTWAIT);
  return count < 0 && errno == EAGAIN;
}

bool nothing_to_read(StreamSocket& socket) {
  return socket.is_open() && nothing_to_read(socket.native_handle());
}

bool is_gone(int socket) {
  pollfd state{.fd = socket, .events = POLLRDHUP, .revents = 0};
  return ::poll(&state, 1, 0) > 0;
}

bool is_gone(StreamSocket& socket) {
  return !socket.is_open() || is_gone(socket.native_handle());
}

void reset(StreamSocket& socket) {
  boost::system::error_code ignored;  // closed either way
  socket.set_option(asio::socket_base::linger(true, 0), ignored);
  socket.close(ignored);
}

std::unique_ptr<HttpStream> make_plain_stream(StreamSocket socket) {
  return std::make_unique<PlainStream>(std::move(socket));
}

}  // namespace holdfast::net

#include "net/accepted_stream.h"

#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <cerrno>
#include <system_error>
#include <utility>

#include "net/as_value.h"

namespace holdfast::net {
namespace {

Status failed(int error) {
  return absl::UnavailableError(std::generic_category().message(error));
}

bool would_wait(int error) {
  return error == EAGAIN || error == EINTR;
}

class AcceptedStream final : public HttpStream {
 public:
  AcceptedStream(const asio::any_io_executor& loop, int socket)
      : descriptor_(socket), waiting_(loop) {}
  ~AcceptedStream() override { close(); }

  bool is_plain() const override { return true; }
  asio::awaitable<Status> handshake() override { co_return absl::OkStatus(); }

  std::optional<Result<size_t>> read_now(std::span<char> into) override {
    const ssize_t count = ::recv(descriptor_, into.data(), into.size(), 0);
    if (count >= 0) return static_cast<size_t>(count);
    if (would_wait(errno)) return std::nullopt;
    if (errno == ECONNRESET) return 0;  // it sends no more; words for it would only cost
    return failed(errno);
  }

  asio::awaitable<Result<size_t>> read_some(std::span<char> into) override {
    for (;;) {
      if (std::optional<Result<size_t>> read = read_now(into)) co_return *std::move(read);
      CO_TRY_OK(co_await wait(StreamSocket::wait_read));
    }
  }

  Result<size_t> write_now(std::string_view bytes) override {
    const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) return static_cast<size_t>(sent);
    if (would_wait(errno)) return 0;
    return failed(errno);
  }

  asio::awaitable<Status> write(std::string_view bytes) override {
    for (;;) {
      CO_TRY(const size_t sent, write_now(bytes));
      bytes.remove_prefix(sent);
      if (bytes.empty()) co_return absl::OkStatus();
      CO_TRY_OK(co_await wait(StreamSocket::wait_write));
    }
  }

  asio::awaitable<void> finish() override {
    ::shutdown(descriptor_, SHUT_WR);
    co_return;
  }

  void close() override {
    const int descriptor = std::exchange(descriptor_, -1);
    boost::system::error_code ignored;  // closed either way
    if (waiting_.is_open()) {
      waiting_.close(ignored);
    } else if (descriptor >= 0) {
      ::close(descriptor);
    }
  }

  void reset() override {
    const linger at_once = {.l_onoff = 1, .l_linger = 0};
    ::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close();
  }

  bool is_gone() override { return descriptor_ < 0 || net::is_gone(descriptor_); }
  bool is_quiet() override { return descriptor_ >= 0 && nothing_to_read(descriptor_); }
  std::string chain_pem() const override { return {}; }

 private:
  asio::awaitable<Status> wait(StreamSocket::wait_type direction) {
    if (descriptor_ < 0) co_return failed(EBADF);
    if (!waiting_.is_open()) {
      // The loop does not ask of which family it is.
      boost::system::error_code error;
      waiting_.assign(asio::generic::stream_protocol(AF_UNSPEC, 0), descriptor_, error);
      if (error) co_return absl::UnavailableError(error.message());
    }
    const auto [error] = co_await waiting_.async_wait(direction, kAsValue);
    if (error) co_return absl::UnavailableError(error.message());
    co_return absl::OkStatus();
  }

  int descriptor_;
  StreamSocket waiting_;  // the same descriptor, once the loop knows it
};

}  // namespace

std::unique_ptr<HttpStream> make_accepted_stream(const asio::any_io_executor& loop, int socket) {
  return std::make_unique<AcceptedStream>(loop, socket);
}

}  // namespace holdfast::net

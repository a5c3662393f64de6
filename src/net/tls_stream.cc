#include "net/tls_stream.h"

#include <openssl/err.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <optional>

#include "net/as_value.h"

namespace holdfast::net {
namespace {

// The first thing OpenSSL complained of, in its words; they hold nothing of the peer's.
std::string reason_text() {
  const char* text = ERR_reason_error_string(ERR_peek_error());
  return text == nullptr ? "the connection broke" : text;
}

class TlsStream final : public HttpStream {
 public:
  TlsStream(StreamSocket socket, std::shared_ptr<const TlsContext> context)
      : context_(std::move(context)),
        socket_(std::move(socket)),
        ssl_(context_->accept_on(socket_.native_handle())) {}
  TlsStream(StreamSocket socket, std::shared_ptr<const TlsContext> context, const std::string& host)
      : context_(std::move(context)),
        socket_(std::move(socket)),
        ssl_(context_->connect_on(socket_.native_handle(), host)) {}

  asio::awaitable<Status> handshake() override {
    for (;;) {
      const std::optional<int> wanted = attempt([this] { return SSL_do_handshake(ssl_.get()); });
      if (!wanted) co_return absl::OkStatus();
      CO_TRY_OK(co_await wait_for(*wanted));
    }
  }

  asio::awaitable<Result<size_t>> read_some(std::span<char> into) override {
    for (;;) {
      size_t count = 0;
      const std::optional<int> wanted =
          attempt([&] { return SSL_read_ex(ssl_.get(), into.data(), into.size(), &count); });
      if (!wanted) co_return count;
      if (*wanted == SSL_ERROR_ZERO_RETURN) co_return 0;
      CO_TRY_OK(co_await wait_for(*wanted));
    }
  }

  asio::awaitable<Status> write(std::string_view bytes) override {
    while (!bytes.empty()) {
      size_t count = 0;
      const std::optional<int> wanted =
          attempt([&] { return SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &count); });
      bytes.remove_prefix(count);
      if (wanted) CO_TRY_OK(co_await wait_for(*wanted));
    }
    co_return absl::OkStatus();
  }

  asio::awaitable<void> finish() override {
    // Until it is out: the peer's own farewell is read with what else it sends.
    while (!broken_) {
      const std::optional<int> wanted =
          attempt([this] { return SSL_shutdown(ssl_.get()) < 0 ? -1 : 1; });
      if (!wanted) break;
      const Status waited = co_await wait_for(*wanted);
      if (!waited.ok()) co_return;
    }
    boost::system::error_code ignored;  // the peer may be gone
    if (!broken_) socket_.shutdown(StreamSocket::shutdown_send, ignored);
  }

  void close() override {
    broken_ = true;
    boost::system::error_code ignored;  // closed either way
    socket_.close(ignored);
  }

  void reset() override {
    broken_ = true;
    net::reset(socket_);
  }

  bool is_gone() override { return net::is_gone(socket_); }

  bool is_quiet() override {
    return !broken_ && SSL_has_pending(ssl_.get()) == 0 && nothing_to_read(socket_);
  }

  std::string chain_pem() const override { return presented_chain(*ssl_); }

 private:
  // What OpenSSL needs before it can go on, as SSL_get_error() says; absent if it is done.
  template <typename Operation>
  std::optional<int> attempt(const Operation& operation) {
    if (broken_) return SSL_ERROR_SSL;
    ERR_clear_error();
    const int result = operation();
    if (result > 0) return std::nullopt;
    return SSL_get_error(ssl_.get(), result);
  }

  asio::awaitable<Status> wait_for(int wanted) {
    if (wanted != SSL_ERROR_WANT_READ && wanted != SSL_ERROR_WANT_WRITE) {
      const std::string reason = reason_text();
      broken_ = true;
      ERR_clear_error();
      co_return absl::UnavailableError(reason);
    }
    const auto direction =
        wanted == SSL_ERROR_WANT_READ ? StreamSocket::wait_read : StreamSocket::wait_write;
    const auto [error] = co_await socket_.async_wait(direction, kAsValue);
    if (error) co_return absl::UnavailableError(error.message());
    co_return absl::OkStatus();
  }

  std::shared_ptr<const TlsContext> context_;
  StreamSocket socket_;
  std::unique_ptr<SSL, TlsContext::Free> ssl_;
  bool broken_ = false;  // OpenSSL must not be asked again
};

}  // namespace

std::unique_ptr<HttpStream> make_tls_stream(StreamSocket socket,
                                            std::shared_ptr<const TlsContext> context) {
  return std::make_unique<TlsStream>(std::move(socket), std::move(context));
}

std::unique_ptr<HttpStream> make_tls_client_stream(StreamSocket socket,
                                                   std::shared_ptr<const TlsContext> context,
                                                   const std::string& host) {
  return std::make_unique<TlsStream>(std::move(socket), std::move(context), host);
}

}  // namespace holdfast::net

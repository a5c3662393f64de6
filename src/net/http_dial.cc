#include "net/http_dial.h"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <vector>

#include "net/http_address.h"
#include "net/tls_stream.h"
#include "net/within.h"

namespace holdfast::net {
namespace {

using asio::ip::tcp;
using Endpoint = asio::generic::stream_protocol::endpoint;
using Stream = std::unique_ptr<HttpStream>;

constexpr auto kAsValue = asio::as_tuple(asio::use_awaitable);
constexpr size_t kLongestHost = 253;
constexpr size_t kMaxEndpoints = 8;  // of one name

struct HostPort {
  std::string host;
  std::string port;
};

Result<HostPort> split(std::string_view address) {
  const size_t colon = address.rfind(':');
  HostPort parts;
  if (colon != std::string_view::npos) {
    parts = {std::string(address.substr(0, colon)), std::string(address.substr(colon + 1))};
  }
  const bool bracketed = parts.host.starts_with('[') && parts.host.ends_with(']');
  if (bracketed) parts.host = parts.host.substr(1, parts.host.size() - 2);
  const bool digits = !parts.port.empty() && parts.port.size() <= 5 &&
                      parts.port.find_first_not_of("0123456789") == std::string::npos;
  const bool host_is_one = !parts.host.empty() && parts.host.size() <= kLongestHost &&
                           (bracketed || !parts.host.contains(':'));
  if (digits && host_is_one) return parts;
  return absl::InvalidArgumentError(
      fmt::format("{} is no address to dial; use HOST:PORT or unix:PATH", address));
}

// The lookup runs on a thread of Asio's that nothing can interrupt, so it is not waited for beyond
// the deadline: it keeps what it writes to, and what it finds then is dropped.
class Lookup {
 public:
  Lookup(const asio::any_io_executor& executor, const HostPort& parts)
      : shared_(std::make_shared<Shared>(executor)) {
    shared_->resolver.async_resolve(parts.host, parts.port,
                                    [shared = shared_](const boost::system::error_code& error,
                                                       const tcp::resolver::results_type& results) {
                                      shared->error = error;
                                      for (const auto& entry : results)
                                        shared->found.emplace_back(entry.endpoint());
                                      shared->done.cancel();
                                      shared->finished = true;
                                    });
  }

  asio::awaitable<Result<std::vector<Endpoint>>> wait(Duration timeout) {
    if (!shared_->finished) {
      shared_->done.expires_after(timeout);
      co_await shared_->done.async_wait(kAsValue);
    }
    if (!shared_->finished) co_return absl::UnavailableError("its name was not found in time");
    if (shared_->error) co_return absl::UnavailableError(shared_->error.message());
    if (shared_->found.size() > kMaxEndpoints) shared_->found.resize(kMaxEndpoints);
    co_return std::move(shared_->found);
  }

 private:
  struct Shared {
    explicit Shared(const asio::any_io_executor& executor) : resolver(executor), done(executor) {}
    tcp::resolver resolver;
    asio::steady_timer done;
    bool finished = false;
    boost::system::error_code error;
    std::vector<Endpoint> found;
  };
  std::shared_ptr<Shared> shared_;  // tidy: shared, the lookup may end after its owner
};

asio::awaitable<Result<std::vector<Endpoint>>> endpoints_of(const DialOptions& options) {
  if (Result<ListenAddress> known = parse_listen_address(options.address); known.ok()) {
    co_return std::vector<Endpoint>{known->endpoint};
  }
  CO_TRY(const HostPort parts, split(options.address));
  Lookup lookup(co_await asio::this_coro::executor, parts);
  co_return co_await lookup.wait(options.timeout);
}

asio::awaitable<Result<StreamSocket>> open_socket(const Endpoint& endpoint,
                                                  const DialOptions& /*options*/) {
  StreamSocket socket(co_await asio::this_coro::executor);
  const auto [error] = co_await socket.async_connect(endpoint, kAsValue);
  if (error) co_return absl::UnavailableError(error.message());
  boost::system::error_code ignored;  // a unix socket has no such option
  socket.set_option(tcp::no_delay(true), ignored);
  socket.native_non_blocking(true, ignored);
  co_return socket;
}

asio::awaitable<Result<Stream>> open_stream(const Endpoint& endpoint, const DialOptions& options) {
  CO_TRY(StreamSocket socket, co_await open_socket(endpoint, options));
  if (options.tls == nullptr) co_return make_plain_stream(std::move(socket));
  const Result<HostPort> parts = split(options.address);
  Stream stream = make_tls_client_stream(std::move(socket), options.tls,
                                         parts.ok() ? parts->host : "localhost");
  CO_TRY_OK(co_await stream->handshake());
  co_return stream;
}

// The first of the address's endpoints that opens.
template <typename T>
asio::awaitable<Result<T>> dial_with(asio::awaitable<Result<T>> (*open)(const Endpoint&,
                                                                        const DialOptions&),
                                     const DialOptions& options) {
  const Result<std::vector<Endpoint>> endpoints = co_await endpoints_of(options);
  if (absl::IsInvalidArgument(endpoints.status())) co_return endpoints.status();
  Status last = endpoints.status();
  if (endpoints.ok()) last = absl::UnavailableError("its name has no address");
  for (const Endpoint& endpoint : endpoints.value_or(std::vector<Endpoint>{})) {
    const bool unwanted = co_await is_cancelled();
    if (unwanted) co_return absl::CancelledError("no longer wanted");
    Result<T> opened = co_await within(options.timeout, open(endpoint, options),
                                       absl::UnavailableError("no connection in time"));
    if (opened.ok()) co_return opened;
    last = opened.status();
  }
  co_return annotate(last, options.address);
}

}  // namespace

asio::awaitable<Result<Stream>> dial(DialOptions options) {
  co_return co_await dial_with<Stream>(open_stream, options);
}

asio::awaitable<Result<StreamSocket>> dial_socket(DialOptions options) {
  co_return co_await dial_with<StreamSocket>(open_socket, options);
}

}  // namespace holdfast::net

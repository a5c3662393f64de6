#include "net/http_dial.h"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <vector>

#include "net/as_value.h"
#include "net/look_up.h"
#include "net/tls_stream.h"
#include "net/within.h"

namespace holdfast::net {
namespace {

using asio::ip::tcp;
using Stream = std::unique_ptr<HttpStream>;

asio::awaitable<Result<StreamSocket>> open_socket(const StreamEndpoint& endpoint,
                                                  const DialOptions& /*options*/) {
  StreamSocket socket(co_await asio::this_coro::executor);
  const auto [error] = co_await socket.async_connect(endpoint, kAsValue);
  if (error) co_return absl::UnavailableError(error.message());
  boost::system::error_code ignored;  // a unix socket has no such option
  socket.set_option(tcp::no_delay(true), ignored);
  socket.native_non_blocking(true, ignored);
  co_return socket;
}

asio::awaitable<Result<Stream>> open_stream(const StreamEndpoint& endpoint,
                                            const DialOptions& options) {
  CO_TRY(StreamSocket socket, co_await open_socket(endpoint, options));
  if (options.tls == nullptr) co_return make_plain_stream(std::move(socket));
  const Result<HostPort> parts = split_host_port(options.address);
  Stream stream = make_tls_client_stream(std::move(socket), options.tls,
                                         parts.ok() ? parts->host : "localhost");
  CO_TRY_OK(co_await stream->handshake());
  co_return stream;
}

// The first of the address's endpoints that opens.
template <typename T>
asio::awaitable<Result<T>> dial_with(asio::awaitable<Result<T>> (*open)(const StreamEndpoint&,
                                                                        const DialOptions&),
                                     const DialOptions& options) {
  const Result<std::vector<StreamEndpoint>> endpoints =
      co_await look_up(options.address, options.timeout);
  if (absl::IsInvalidArgument(endpoints.status())) co_return endpoints.status();
  Status last = endpoints.status();
  if (endpoints.ok()) last = absl::UnavailableError("its name has no address");
  for (const StreamEndpoint& endpoint : endpoints.value_or(std::vector<StreamEndpoint>{})) {
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

#include "cli/local_port.h"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <array>
#include <cstring>

#include "base/reason.h"
#include "cli/byte_copy.h"
#include "net/early_stream.h"
#include "net/http_address.h"
#include "net/socks5.h"
#include "net/within.h"

namespace holdfast::cli {
namespace {

using asio::ip::tcp;

constexpr std::chrono::milliseconds kAcceptPause(100);  // when there are no descriptors left

struct SocksRequest {
  WantedService wanted{};
  std::string early{};  // what came after it
};

asio::awaitable<Result<SocksRequest>> read_socks(net::HttpStream& client) {
  net::Socks5 socks;
  std::string pending;
  std::array<char, 1'024> buffer;
  for (;;) {
    const net::Socks5::Step step = socks.put(pending);
    pending.erase(0, step.taken);
    if (!step.send.empty()) CO_TRY_OK(co_await client.write(step.send));
    if (step.state == net::Socks5::State::Asked) break;
    if (step.state == net::Socks5::State::Refused) {
      co_return coded(absl::StatusCode::kInvalidArgument, "HF2314",
                      "a program asked by SOCKS5 for something other than a service's name");
    }
    CO_TRY(const size_t count, co_await client.read_some(buffer));
    if (count == 0) co_return absl::CancelledError("gone");
    pending.append(buffer.data(), count);
  }
  co_return SocksRequest{.wanted = {.service = socks.host(), .port = std::to_string(socks.port())},
                         .early = std::move(pending)};
}

net::SocksReply reply_for(const Status& why) {
  switch (why.code()) {
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return net::SocksReply::NotAllowed;
    case absl::StatusCode::kNotFound:
      return net::SocksReply::HostUnreachable;
    case absl::StatusCode::kDeadlineExceeded:
      return net::SocksReply::TimedOut;
    case absl::StatusCode::kUnavailable:
      return net::SocksReply::Refused;
    default:
      return net::SocksReply::Failed;
  }
}

}  // namespace

Result<tcp::endpoint> local_endpoint(const std::string& address) {
  TRY(const net::ListenAddress parsed, net::parse_listen_address(address));
  if (!parsed.socket_file.empty()) return absl::InvalidArgumentError("use ADDRESS:PORT");
  tcp::endpoint endpoint;
  endpoint.resize(parsed.endpoint.size());
  std::memcpy(endpoint.data(), parsed.endpoint.data(), parsed.endpoint.size());
  return endpoint;
}

LocalPort::LocalPort(const asio::any_io_executor& loop, ProxyRoute& route, LocalPortOptions options)
    : route_(route), options_(std::move(options)), acceptor_(loop), tasks_(loop) {}

Result<std::string> LocalPort::listen() {
  TRY(const tcp::endpoint endpoint, local_endpoint(options_.address));
  boost::system::error_code error;
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    return coded(absl::StatusCode::kUnavailable, "HF1106",
                 fmt::format("cannot listen on {}: {}", options_.address, error.message()));
  }
  return net::to_text(acceptor_.local_endpoint(error));
}

asio::awaitable<void> LocalPort::run() {
  for (;;) {
    auto [error, socket] = co_await acceptor_.async_accept(asio::as_tuple(asio::use_awaitable));
    if (error == asio::error::operation_aborted) break;
    if (error) {
      const bool waited = co_await net::pause(kAcceptPause);
      if (!waited) break;
      continue;
    }
    if (tasks_.size() >= options_.max_connections) continue;  // closes it
    boost::system::error_code ignored;  // a connection that is gone has no options
    socket.set_option(tcp::no_delay(true), ignored);
    socket.native_non_blocking(true, ignored);
    tasks_.spawn(serve(net::make_plain_stream(net::StreamSocket(std::move(socket)))));
  }
  co_await tasks_.join();
}

asio::awaitable<void> LocalPort::serve(std::unique_ptr<net::HttpStream> client) {
  const Status carried = options_.wanted ? co_await carry(*client) : co_await carry_socks(*client);
  if (!carried.ok() && !absl::IsCancelled(carried)) options_.on_failure(carried);
}

asio::awaitable<Status> LocalPort::carry(net::HttpStream& client) {
  CO_TRY(const auto service, co_await route_.open(*options_.wanted));
  co_return co_await join_streams(client, *service, Until::BothEnd);
}

asio::awaitable<Status> LocalPort::carry_socks(net::HttpStream& client) {
  CO_TRY(SocksRequest request,
         co_await net::within(options_.socks_timeout, read_socks(client),
                              absl::CancelledError("it did not say what it wants")));
  const Result<std::unique_ptr<net::HttpStream>> service =
      co_await route_.open(std::move(request.wanted));
  const net::SocksReply reply =
      service.ok() ? net::SocksReply::Granted : reply_for(service.status());
  CO_TRY_OK(co_await client.write(net::socks_reply(reply)));
  if (!service.ok()) {
    co_await client.finish();
    co_return service.status();
  }
  CO_TRY_OK(co_await (*service)->write(request.early));
  co_return co_await join_streams(client, **service, Until::BothEnd);
}

}  // namespace holdfast::cli

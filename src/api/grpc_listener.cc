#include "api/grpc_listener.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/reason.h"
#include "net/http_address.h"

namespace holdfast::api {
namespace {

constexpr int kBacklog = 1'024;
constexpr std::chrono::milliseconds kAcceptPause(100);  // when there are no descriptors left
constexpr std::chrono::milliseconds kSweepPeriod(500);

}  // namespace

GrpcListener::GrpcListener(const asio::any_io_executor& loop, const net::ConnectionBounds& bounds,
                           HandOver hand_over)
    : loop_(loop),
      limits_(std::make_shared<net::ConnectionLimits>(bounds)),
      hand_over_(std::move(hand_over)),
      tasks_(loop) {}

Result<int> GrpcListener::bind(const std::string& address) {
  TRY(const net::ListenAddress where, net::parse_listen_address(address));
  Acceptor acceptor(loop_);
  boost::system::error_code error;
  acceptor.open(where.endpoint.protocol(), error);
  if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(where.endpoint, error);
  if (!error) acceptor.listen(kBacklog, error);
  if (error) {
    return coded(absl::StatusCode::kUnavailable, "HF1106",
                 fmt::format("cannot listen on {}: {}", address, error.message()));
  }
  const std::string bound = net::to_text(acceptor.local_endpoint(error));
  acceptors_.push_back(std::move(acceptor));
  return std::stoi(bound.substr(bound.rfind(':') + 1));
}

void GrpcListener::start() {
  tasks_.spawn(sweep());
  for (Acceptor& acceptor : acceptors_) tasks_.spawn(accept(acceptor));
}

asio::awaitable<void> GrpcListener::accept(Acceptor& acceptor) {
  while (!stopping_) {
    Protocol::endpoint peer;
    auto [error, socket] =
        co_await acceptor.async_accept(peer, asio::as_tuple(asio::use_awaitable));
    if (stopping_) co_return;
    if (!error) {
      take(std::move(socket), peer);
      continue;
    }
    if (error == asio::error::connection_aborted) continue;
    // No descriptors or memory: what waits in the backlog is taken when there are again.
    stats_.refused["descriptors"] += 1;
    const bool waited = co_await net::pause(kAcceptPause);
    if (!waited) co_return;
  }
}

void GrpcListener::take(Protocol::socket socket, const Protocol::endpoint& peer) {
  const std::string address = net::counted_address(peer);
  if (const char* limit = limits_->why_not(address, false); limit != nullptr) {
    stats_.refused[limit] += 1;
    return;  // closes it
  }
  boost::system::error_code ignored;
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket.native_non_blocking(true, ignored);
  const int descriptor = socket.release(ignored);
  struct stat found = {};
  if (descriptor < 0 || ::fstat(descriptor, &found) != 0) return;
  open_.push_back({.descriptor = descriptor,
                   .inode = found.st_ino,
                   .slot = net::ConnectionSlot(limits_, address, false)});
  stats_.accepted += 1;
  hand_over_(descriptor);
}

asio::awaitable<void> GrpcListener::sweep() {
  const auto is_gone = [](const Connection& connection) {
    struct stat found = {};
    return ::fstat(connection.descriptor, &found) != 0 || found.st_ino != connection.inode;
  };
  for (;;) {
    const bool waited = co_await net::pause(kSweepPeriod);
    if (!waited) co_return;
    std::erase_if(open_, is_gone);
  }
}

asio::awaitable<void> GrpcListener::stop() {
  stopping_ = true;
  for (Acceptor& acceptor : acceptors_) {
    boost::system::error_code ignored;  // closed either way
    acceptor.close(ignored);
  }
  co_await tasks_.join();
}

}  // namespace holdfast::api

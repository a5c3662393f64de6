#include "echo_app.h"

#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <cerrno>

#include "base/check.h"
#include "net/http_address.h"
#include "tunnel/socket_end_service.h"

namespace holdfast::test {
namespace {

constexpr auto kAsValue = asio::as_tuple(asio::use_awaitable);

}  // namespace

EchoApp::EchoApp(asio::io_context& loop, const std::string& address, bool reads)
    : acceptor_(loop), reads_(reads), tasks_(loop.get_executor()) {
  const net::ListenAddress listen = net::parse_listen_address(address).value();
  acceptor_.open(listen.endpoint.protocol());
  if (listen.socket_file.empty()) acceptor_.set_option(asio::socket_base::reuse_address(true));
  acceptor_.bind(listen.endpoint);
  acceptor_.listen();
  address_ = listen.socket_file.empty() ? net::to_text(acceptor_.local_endpoint()) : address;
  tasks_.spawn(accept());
}

asio::awaitable<void> EchoApp::accept() {
  for (;;) {
    auto [error, socket] = co_await acceptor_.async_accept(kAsValue);
    if (error) co_return;
    ++connections_;
    tasks_.spawn(echo(std::move(socket)));
  }
}

asio::awaitable<void> EchoApp::echo(net::StreamSocket socket) {
  std::array<char, 65'536> bytes;
  while (reads_) {
    const auto [error, count] = co_await socket.async_read_some(asio::buffer(bytes), kAsValue);
    if (error) break;
    const auto [failed, sent] =
        co_await asio::async_write(socket, asio::buffer(bytes.data(), count), kAsValue);
    if (failed) break;
  }
  if (!reads_) co_await net::pause(std::chrono::hours(1));
}

asio::awaitable<void> EchoApp::stop() {
  boost::system::error_code ignored;  // closed either way
  acceptor_.close(ignored);
  co_await tasks_.join();
}

RawClient::RawClient(asio::io_context& loop) {
  std::array<int, 2> pair{};
  HF_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair.data()) == 0,
           "a pair of sockets");
  socket_ = pair[0];
  net::StreamSocket far(loop);
  far.assign(asio::generic::stream_protocol(AF_UNIX, 0), pair[1]);
  end_ = std::make_unique<tunnel::SocketEnd>(std::move(far));
}

RawClient::~RawClient() {
  ::close(socket_);
}

size_t RawClient::send(std::string_view bytes) {
  const ssize_t count = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (count < 0 && errno != EAGAIN) broken_ = true;
  return count < 0 ? 0 : static_cast<size_t>(count);
}

void RawClient::finish() {
  ::shutdown(socket_, SHUT_WR);
}

const std::string& RawClient::received() {
  std::array<char, 65'536> bytes;
  for (;;) {
    const ssize_t count = ::recv(socket_, bytes.data(), bytes.size(), 0);
    if (count == 0) ended_ = true;
    if (count < 0 && errno != EAGAIN) broken_ = true;
    if (count <= 0) return received_;
    received_.append(bytes.data(), static_cast<size_t>(count));
  }
}

}  // namespace holdfast::test

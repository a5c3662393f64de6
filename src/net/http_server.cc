#include "net/http_server.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <cerrno>

#include "base/check.h"
#include "base/reason.h"
#include "net/accepted_stream.h"
#include "net/http_address.h"
#include "net/tls_stream.h"

namespace holdfast::net {
namespace {

constexpr int kBacklog = 1'024;
constexpr std::chrono::milliseconds kAcceptPause(100);  // when there are no descriptors left

// Only a socket: what else is there is somebody's file.
void remove_socket_file(const std::string& path) {
  struct stat found = {};
  if (::lstat(path.c_str(), &found) == 0 && S_ISSOCK(found.st_mode)) ::unlink(path.c_str());
}

template <typename Acceptor>
boost::system::error_code bind_and_listen(Acceptor& acceptor, const ListenAddress& address) {
  boost::system::error_code error;
  acceptor.open(address.endpoint.protocol(), error);
  if (error) return error;
  if (address.socket_file.empty()) {
    acceptor.set_option(asio::socket_base::reuse_address(true), error);
    // [::] is for both families, whatever the machine's default is.
    boost::system::error_code ignored;
    if (address.endpoint.protocol().family() == AF_INET6) {
      acceptor.set_option(asio::ip::v6_only(false), ignored);
    }
  } else {
    remove_socket_file(address.socket_file);
  }
  if (!error) acceptor.bind(address.endpoint, error);
  if (error) return error;
  // Before it listens, so that nobody else is ever let in.
  if (!address.socket_file.empty() && ::chmod(address.socket_file.c_str(), 0600) != 0) {
    return {errno, boost::system::system_category()};
  }
  boost::system::error_code ignored;  // a unix socket has no such option; accepted ones inherit it
  acceptor.set_option(asio::ip::tcp::no_delay(true), ignored);
  acceptor.native_non_blocking(true, error);
  if (!error) acceptor.listen(kBacklog, error);
  return error;
}

// What holds for all is counted with the connections that linger.
ConnectionBounds per_address(const HttpServerOptions& options) {
  return {.max_connections_per_address = options.max_connections_per_address,
          .max_waiting_per_address = options.max_handshakes_per_address};
}

}  // namespace

HttpServer::HttpServer(const asio::any_io_executor& loop, const Clock& clock,
                       metrics::Registry& registry, HttpServerOptions options)
    : loop_(loop),
      shared_{.options = std::move(options), .clock = clock, .counters = HttpCounters(registry)},
      limits_(std::make_shared<ConnectionLimits>(per_address(shared_.options))),
      linger_(shared_),
      tasks_(loop) {}

HttpServer::~HttpServer() {
  HF_CHECK(connections_.empty(), "a server is stopped before it dies");
}

Result<std::string> HttpServer::listen(const HttpListen& where, HttpHandler handler) {
  TRY(const ListenAddress address, parse_listen_address(where.address));
  Acceptor acceptor(loop_);
  const boost::system::error_code failed = bind_and_listen(acceptor, address);
  if (failed) {
    return coded(absl::StatusCode::kUnavailable, "HF1106",
                 fmt::format("cannot listen on {}: {}", where.address, failed.message()));
  }
  boost::system::error_code error;
  const std::string bound =
      address.socket_file.empty() ? to_text(acceptor.local_endpoint(error)) : where.address;
  start({.acceptor = std::move(acceptor),
         .handler = std::move(handler),
         .tls = where.tls,
         .socket_file = address.socket_file});
  return bound;
}

void HttpServer::start(Listener listener) {
  if (listeners_.empty()) tasks_.spawn(sweep());
  tasks_.spawn(accept(listeners_.emplace_back(std::move(listener))));
}

Status HttpServer::set_tls(const std::string& certificate_chain_pem,
                           const std::string& private_key_pem) {
  TRY(tls_, TlsContext::make(certificate_chain_pem, private_key_pem));
  return absl::OkStatus();
}

// One at a time: to be told that there is no other costs more than to be woken for it.
asio::awaitable<void> HttpServer::accept(Listener& listener) {
  while (!shared_.stopping) {
    const auto [error] = co_await listener.acceptor.async_wait(Acceptor::wait_read,
                                                               asio::as_tuple(asio::use_awaitable));
    if (shared_.stopping) co_return;
    if (!error && accept_one(listener)) continue;
    // No descriptors or memory: what waits in the backlog is taken when there are again.
    shared_.counters.refused.with({{"reason", "descriptors"}}).add();
    const bool waited = co_await pause(make_room() ? Duration(0) : kAcceptPause);
    if (!waited) co_return;
  }
}

// False if it cannot be done now.
bool HttpServer::accept_one(Listener& listener) {
  Protocol::endpoint peer;
  auto size = static_cast<socklen_t>(peer.capacity());
  const bool named = shared_.options.name_peers || listener.tls;
  const int socket = ::accept4(listener.acceptor.native_handle(), named ? peer.data() : nullptr,
                               named ? &size : nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (socket < 0) return errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM;
  if (named) peer.resize(size);
  take(listener, socket, peer);
  linger_.look_at_oldest();
  return true;
}

std::string HttpServer::counted(const Listener& listener, const Protocol::endpoint& peer) const {
  const bool known = shared_.options.name_peers || listener.tls;
  return known && listener.socket_file.empty() ? counted_address(peer) : "";
}

// Null if it may come in. An address that has too many is told first: it makes no room for others
// by taking it from them.
const char* HttpServer::why_not(const Listener& listener, const std::string& address) {
  const char* limit = address.empty() ? nullptr : limits_->why_not(address, listener.tls);
  if (limit != nullptr) return limit;
  if (connection_count() >= shared_.options.max_connections && !make_room()) return "connections";
  if (!listener.tls) return nullptr;
  if (tls_ == nullptr) return "no_certificate";
  return limits_->waiting() >= shared_.options.max_handshakes ? "handshakes" : nullptr;
}

// The oldest of those that wait for their peers: who opens many and says nothing shuts nobody out.
bool HttpServer::make_room() {
  if (!shared_.options.replace_waiting) return false;
  return linger_.give_way() ||
         std::ranges::any_of(connections_, [](HttpConnection& one) { return one.give_way(); });
}

// Null if the loop has no room for it.
std::unique_ptr<HttpStream> HttpServer::open_stream(const Listener& listener, int socket) {
  if (!listener.tls) return make_accepted_stream(loop_, socket);
  StreamSocket known(loop_);
  boost::system::error_code error;
  known.assign(Protocol(AF_UNSPEC, 0), socket, error);
  return error ? nullptr : make_tls_stream(std::move(known), tls_);
}

void HttpServer::take(Listener& listener, int socket, const Protocol::endpoint& peer) {
  const std::string address = counted(listener, peer);
  const char* reason = why_not(listener, address);
  std::unique_ptr<HttpStream> stream = reason == nullptr ? open_stream(listener, socket) : nullptr;
  if (stream == nullptr) {
    shared_.counters.refused.with({{"reason", reason == nullptr ? "descriptors" : reason}}).add();
    ::close(socket);
    return;
  }
  HttpPeer who;
  who.local = !listener.socket_file.empty();
  if (shared_.options.name_peers) who.source = to_text(peer);
  ConnectionSlot slot =
      address.empty() ? ConnectionSlot() : ConnectionSlot(limits_, address, listener.tls);
  connections_.emplace_back(shared_, listener.handler, std::move(stream), std::move(who),
                            std::move(slot));
  tasks_.spawn_ending([this, connection = std::prev(connections_.end())](
                          asio::cancellation_signal& ends) { return serve(connection, ends); });
}

asio::awaitable<void> HttpServer::serve(Connections::iterator connection,
                                        asio::cancellation_signal& ends) {
  co_await connection->run(ends);
  const std::optional<Time> deadline = connection->deadline();
  if (connection->lingers() && deadline) linger_.add(connection->take_stream(), *deadline);
  connections_.erase(connection);
}

asio::awaitable<void> HttpServer::sweep() {
  for (;;) {
    const bool waited = co_await pause(shared_.options.sweep_period);
    if (!waited) co_return;
    const Time now = shared_.clock.now();
    for (HttpConnection& connection : connections_) connection.on_tick(now);
    linger_.on_tick(now);
  }
}

asio::awaitable<void> HttpServer::stop() {
  shared_.stopping = true;
  for (Listener& listener : listeners_) {
    boost::system::error_code ignored;  // closed either way
    listener.acceptor.close(ignored);
    remove_socket_file(listener.socket_file);
  }
  for (HttpConnection& connection : connections_) {
    if (connection.idle()) connection.close();
  }
  const Time end = shared_.clock.now() + shared_.options.grace;
  bool waited = true;
  while (waited && connection_count() > 0 && shared_.clock.now() < end) {
    waited = co_await pause(std::chrono::milliseconds(5));
    linger_.on_tick(shared_.clock.now());
  }
  for (HttpConnection& connection : connections_) connection.close();
  co_await tasks_.join();
  linger_.close_all();
}

}  // namespace holdfast::net

// An HTTP/1.1 server on one loop: TCP, TCP with TLS, and unix sockets. It knows requests and
// responses, not what they mean. Everything a peer can fill or delay has a limit and a counter.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>

#include <list>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "metrics/metrics.h"
#include "net/http_connection.h"
#include "net/http_linger.h"
#include "net/http_message.h"
#include "net/task_group.h"
#include "net/tls_context.h"

namespace holdfast::net {

struct HttpListen {
  std::string address{};  // "127.0.0.1:8080", "[::1]:0", or "unix:/run/holdfast/http.sock"
  bool tls = false;
};

class HttpServer {
 public:
  HttpServer(const asio::any_io_executor& loop, const Clock& clock, metrics::Registry& registry,
             HttpServerOptions options);
  // Requires: stop() has completed, or it never listened.
  ~HttpServer();

  // The address it listens on, with the port it got. kInvalidArgument if it is not an address,
  // kUnavailable if it cannot be had. A socket file that is left over is replaced; the new one is
  // for its owner only.
  Result<std::string> listen(const HttpListen& where, HttpHandler handler);
  // For connections from now on; until then those with TLS are refused. kInvalidArgument, and no
  // change, if the two do not fit.
  Status set_tls(const std::string& certificate_chain_pem, const std::string& private_key_pem);
  // No new connections, idle ones closed, running requests given the grace, the rest cut.
  asio::awaitable<void> stop();
  size_t connection_count() const { return connections_.size() + linger_.size(); }

 private:
  using Protocol = asio::generic::stream_protocol;
  using Acceptor = asio::basic_socket_acceptor<Protocol>;
  struct Listener {
    Acceptor acceptor;
    HttpHandler handler;
    bool tls = false;
    std::string socket_file{};
  };
  using Connections = std::list<HttpConnection>;

  void start(Listener listener);
  asio::awaitable<void> accept(Listener& listener);
  bool accept_one(Listener& listener);
  std::unique_ptr<HttpStream> open_stream(const Listener& listener, int socket);
  void take(Listener& listener, int socket, const Protocol::endpoint& peer);
  // Of whom the limits per address count; empty: of nobody.
  std::string counted(const Listener& listener, const Protocol::endpoint& peer) const;
  const char* why_not(const Listener& listener, const std::string& address);
  bool make_room();
  asio::awaitable<void> serve(Connections::iterator connection, asio::cancellation_signal& ends);
  asio::awaitable<void> sweep();

  asio::any_io_executor loop_;
  HttpShared shared_;
  ConnectionSlot::Limits limits_;
  std::shared_ptr<const TlsContext> tls_;
  std::list<Listener> listeners_;
  Connections connections_;
  HttpLinger linger_;
  TaskGroup tasks_;
};

}  // namespace holdfast::net

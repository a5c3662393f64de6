#include "tunnel_link_sides.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/pem.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <cerrno>
#include <csignal>
#include <thread>

#include "base/check.h"
#include "base/clock.h"
#include "identity/certificate.h"
#include "net/http_address.h"
#include "net/http_dial.h"
#include "net/task_group.h"
#include "tunnel/link_service.h"
#include "tunnel/secure_connection_service.h"
#include "tunnel/socket_end_service.h"

namespace holdfast::bench {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace tunnel;

constexpr auto kAsValue = asio::as_tuple(asio::use_awaitable);

int listen_on_loopback() {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  HF_CHECK(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "a port");
  HF_CHECK(::listen(listener, 4096) == 0, "a listener");
  return listener;
}

uint16_t port_of(int socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

// One loop with links and whoever runs them.
struct Node : LinkOwner {
  asio::io_context loop{1};
  SystemClock clock;
  identity::Trust trust;
  LinkBuffers buffers;
  net::TaskGroup tasks{loop.get_executor()};
  std::shared_ptr<const net::TlsContext> context;
  Link* link = nullptr;  // the one that is used
  uint16_t app_port = 0;

  SecureParts parts() { return {.trust = trust, .clock = clock}; }
  Link::Parts link_parts() {
    return {.loop = loop.get_executor(), .clock = clock, .buffers = buffers, .owner = *this};
  }

  void on_open(Link& from, StreamId stream, std::string_view /*payload*/) override {
    tasks.spawn(answer(from, stream));
  }
  Status on_message(Link& /*link*/, std::string_view /*payload*/) override {
    return absl::OkStatus();
  }
  void on_goodbye(Link& /*link*/, std::string_view /*why*/) override {}

  asio::awaitable<void> answer(Link& from, StreamId stream) {
    Result<net::StreamSocket> socket =
        co_await net::dial_socket({.address = "127.0.0.1:" + std::to_string(app_port)});
    if (!socket.ok()) {
      from.reset(stream, ResetCode::Refused, "no app");
    } else {
      from.accept(stream, std::make_unique<SocketEnd>(*std::move(socket)));
    }
  }

  asio::awaitable<void> run_link(std::unique_ptr<SecureConnection> connection, Side side) {
    Link mine(link_parts(), std::move(connection), {.session = {.side = side}});
    if (link == nullptr) link = &mine;
    const Status status = co_await mine.run();
    HF_CHECK(false, "the tunnel lasts");
  }

  asio::awaitable<void> dial_tunnel(std::string address) {
    Secured connection = co_await secure_connect(address, parts(), {.context = context});
    HF_CHECK(connection.ok(), std::string(connection.status().message()).c_str());
    co_await run_link(*std::move(connection), Side::Acceptor);
  }

  asio::awaitable<void> accept_tunnel(net::StreamSocket socket) {
    Secured connection = co_await secure_accept(std::move(socket), parts(), {.context = context});
    HF_CHECK(connection.ok(), std::string(connection.status().message()).c_str());
    co_await run_link(*std::move(connection), Side::Opener);
  }

  asio::awaitable<void> accept_client(net::StreamSocket socket) {
    std::unique_ptr<StreamEnd> end = std::make_unique<SocketEnd>(std::move(socket));
    const Status opened = co_await link->open("app", end, std::chrono::seconds(10));
    HF_CHECK(opened.ok(), std::string(opened.message()).c_str());
  }

  asio::awaitable<void> listen(int listener, bool for_tunnels) {
    tcp::acceptor acceptor(loop, tcp::v4(), listener);
    for (;;) {
      auto [error, socket] = co_await acceptor.async_accept(kAsValue);
      if (error) continue;
      net::StreamSocket generic(std::move(socket));
      tasks.spawn(for_tunnels ? accept_tunnel(std::move(generic))
                              : accept_client(std::move(generic)));
    }
  }
};

pid_t start(const auto& body) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  body();
  ::_exit(0);
}

void run_proxy(const Credentials& credentials, int tunnels, int clients) {
  Node node;
  HF_CHECK(node.trust.set("bench", credentials.ca_pem).ok(), "a CA");
  node.context = net::TlsContext::make_tunnel_server({.certificate_pem = credentials.proxy_pem,
                                                      .private_key_pem = credentials.proxy_key,
                                                      .protocols = {std::string(kTunnelProtocol)}})
                     .value();
  node.tasks.spawn(node.listen(tunnels, true));
  node.tasks.spawn(node.listen(clients, false));
  node.loop.run();
}

void run_agent(const Credentials& credentials, uint16_t tunnel_port, uint16_t app_port, int idle) {
  Node node;
  HF_CHECK(node.trust.set("bench", credentials.ca_pem).ok(), "a CA");
  node.context =
      net::TlsContext::make_tunnel_client({.certificate_pem = credentials.agent_pem,
                                           .private_key_pem = credentials.agent_key,
                                           .protocols = {std::string(kTunnelProtocol)},
                                           .ca_pem = credentials.ca_pem,
                                           .server_name = std::string(identity::kProxyServerName)})
          .value();
  node.app_port = app_port;
  for (int i = 0; i <= idle; ++i) {
    node.tasks.spawn(node.dial_tunnel("127.0.0.1:" + std::to_string(tunnel_port)));
  }
  node.loop.run();
}

void serve(int listener, SSL_CTX* context) {
  for (;;) {
    const int socket = ::accept(listener, nullptr, nullptr);
    if (socket < 0) continue;
    std::thread([socket, context] {
      const int yes = 1;
      ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
      SSL* ssl = nullptr;
      if (context != nullptr) {
        ssl = SSL_new(context);
        SSL_set_fd(ssl, socket);
        if (SSL_accept(ssl) != 1) {
          ::close(socket);
          return;
        }
      }
      Wire wire(socket, ssl);
      serve_app(wire);
    }).detach();
  }
}

void run_app(const Credentials& credentials, int plain, int secure) {
  ::signal(SIGPIPE, SIG_IGN);
  SSL_CTX* context = make_raw_context(credentials, true);
  std::thread other([&] { serve(secure, context); });
  serve(plain, nullptr);
}

}  // namespace

SSL_CTX* make_raw_context(const Credentials& credentials, bool server) {
  SSL_CTX* context = SSL_CTX_new(server ? TLS_server_method() : TLS_client_method());
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256");
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_default_read_buffer_len(context, 256 << 10);
  if (!server) return context;
  BIO* pem = BIO_new_mem_buf(credentials.proxy_pem.data(), -1);
  X509* certificate = PEM_read_bio_X509(pem, nullptr, nullptr, nullptr);
  BIO* key_pem = BIO_new_mem_buf(credentials.proxy_key.data(), -1);
  EVP_PKEY* key = PEM_read_bio_PrivateKey(key_pem, nullptr, nullptr, nullptr);
  SSL_CTX_use_certificate(context, certificate);
  SSL_CTX_use_PrivateKey(context, key);
  return context;
}

Wire::~Wire() {
  if (ssl_ != nullptr) SSL_free(ssl_);
  ::close(socket_);
}
ssize_t Wire::read(char* into, size_t size) {
  if (ssl_ != nullptr) return SSL_read(ssl_, into, static_cast<int>(size));
  return ::recv(socket_, into, size, 0);
}
bool Wire::write(const char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t count = ssl_ != nullptr ? SSL_write(ssl_, bytes, static_cast<int>(size))
                                          : ::send(socket_, bytes, size, MSG_NOSIGNAL);
    if (count <= 0) return false;
    bytes += count;
    size -= static_cast<size_t>(count);
  }
  return true;
}
void Wire::cut() {
  ::shutdown(socket_, SHUT_RDWR);
}

std::unique_ptr<Wire> connect_to(uint16_t port, SSL_CTX* context) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{
      .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    ::close(socket);
    return nullptr;
  }
  const int yes = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  SSL* ssl = nullptr;
  if (context != nullptr) {
    ssl = SSL_new(context);
    SSL_set_fd(ssl, socket);
    HF_CHECK(SSL_connect(ssl) == 1, "a handshake");
  }
  return std::make_unique<Wire>(socket, ssl);
}

Credentials make_credentials() {
  const WallTime now = SystemClock().wall_now();
  const identity::Validity day{.not_before = now - std::chrono::hours(1),
                               .not_after = now + std::chrono::hours(24)};
  const identity::SigningKey ca = identity::make_authority("bench", day).value();
  Credentials made{.ca_pem = ca.certificate_pem};
  const auto issue = [&](identity::Role role, const std::string& key) {
    return identity::issue(
               ca, {.identity = {.role = role, .cluster = "bench", .name = "x-1"}, .validity = day},
               identity::make_request(key).value())
        .value();
  };
  made.proxy_key = identity::make_private_key().value();
  made.agent_key = identity::make_private_key().value();
  made.proxy_pem = issue(identity::Role::Proxy, made.proxy_key);
  made.agent_pem = issue(identity::Role::Agent, made.agent_key);
  return made;
}

Sides start_sides(const Credentials& credentials, int idle) {
  const int tunnels = listen_on_loopback();
  const int clients = listen_on_loopback();
  const int plain = listen_on_loopback();
  const int secure = listen_on_loopback();
  Sides sides{
      .proxy_port = port_of(clients), .app_port = port_of(plain), .tls_port = port_of(secure)};
  sides.app = start([&] { run_app(credentials, plain, secure); });
  sides.proxy = start([&] { run_proxy(credentials, tunnels, clients); });
  sides.agent = start([&] { run_agent(credentials, port_of(tunnels), sides.app_port, idle); });
  for (const int listener : {tunnels, clients, plain, secure}) ::close(listener);
  return sides;
}

void stop_sides(const Sides& sides) {
  for (const pid_t child : {sides.proxy, sides.agent, sides.app}) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
}

}  // namespace holdfast::bench

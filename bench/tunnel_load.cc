#include "tunnel_load.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

#include "delays.h"
#include "tunnel_app.h"

namespace holdfast::bench {
namespace {

constexpr size_t kChunk = 256 << 10;
constexpr size_t kEchoBytes = 64;

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::exit(1);
}

int connect_to(uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    ::close(socket);
    return -1;
  }
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return socket;
}

// A blocking connection, plain or under TLS.
class Client {
 public:
  explicit Client(const Endpoint& to) : socket_(connect_to(to.port)) {
    if (socket_ < 0) give_up("connect");
    if (to.tls_cipher.empty()) return;
    context_.reset(SSL_CTX_new(TLS_client_method()));
    SSL_CTX_set_min_proto_version(context_.get(), TLS1_3_VERSION);
    SSL_CTX_set_ciphersuites(context_.get(), to.tls_cipher.c_str());
    SSL_CTX_set_read_ahead(context_.get(), 1);
    SSL_CTX_set_default_read_buffer_len(context_.get(), kChunk);
    ssl_.reset(SSL_new(context_.get()));
    SSL_set_fd(ssl_.get(), socket_);
    if (SSL_connect(ssl_.get()) != 1) give_up("TLS");
  }
  ~Client() { ::close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // False: the peer is gone.
  bool write(const char* bytes, size_t size) {
    while (size > 0) {
      size_t sent = 0;
      if (ssl_ != nullptr) {
        if (SSL_write_ex(ssl_.get(), bytes, size, &sent) != 1) return false;
      } else {
        const ssize_t count = ::send(socket_, bytes, size, MSG_NOSIGNAL);
        if (count <= 0) return false;
        sent = static_cast<size_t>(count);
      }
      bytes += sent;
      size -= sent;
    }
    return true;
  }
  size_t read_some(char* into, size_t size) {
    size_t got = 0;
    if (ssl_ != nullptr) return SSL_read_ex(ssl_.get(), into, size, &got) == 1 ? got : 0;
    const ssize_t count = ::recv(socket_, into, size, 0);
    return count > 0 ? static_cast<size_t>(count) : 0;
  }
  bool read_all(char* into, size_t size) {
    for (size_t have = 0; have < size;) {
      const size_t count = read_some(into + have, size - have);
      if (count == 0) return false;
      have += count;
    }
    return true;
  }

 private:
  struct Free {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };
  int socket_;
  std::unique_ptr<SSL_CTX, Free> context_;
  std::unique_ptr<SSL, Free> ssl_;
};

void transfer(const Endpoint& to, char what, uint64_t bytes, const std::atomic<bool>* ending) {
  Client client(to);
  std::vector<char> buffer(kChunk);
  const std::string first = head(what, bytes);
  if (!client.write(first.data(), first.size())) give_up("bulk");
  while (bytes > 0 && (ending == nullptr || !*ending)) {
    const size_t most = std::min<uint64_t>(bytes, buffer.size());
    if (what == 'U') {
      if (!client.write(buffer.data(), most)) give_up("bulk");
      bytes -= most;
    } else {
      const size_t count = client.read_some(buffer.data(), most);
      if (count == 0) give_up("bulk: the transfer was cut");
      bytes -= count;
    }
  }
  if (what == 'U' && !client.read_all(buffer.data(), 1)) give_up("bulk: not confirmed");
}

void echo_on(Client& client, DelayHistogram& delays, int64_t until) {
  std::array<char, kEchoBytes> bytes{};
  const std::string first = head('E', 0);
  if (!client.write(first.data(), first.size())) give_up("echo");
  for (int64_t begin = now_nanoseconds(); begin < until;) {
    if (!client.write(bytes.data(), bytes.size()) || !client.read_all(bytes.data(), bytes.size()))
      give_up("echo: cut");
    const int64_t end = now_nanoseconds();
    delays.record(end - begin);
    begin = end;
  }
}

Echoes summary(const DelayHistogram& delays, double seconds) {
  return {.p50_us = delays.percentile_ms(0.5) * 1e3,
          .p99_us = delays.percentile_ms(0.99) * 1e3,
          .per_second = static_cast<double>(delays.count()) / seconds};
}

int64_t from_now(double seconds) {
  return now_nanoseconds() + static_cast<int64_t>(seconds * 1e9);
}

// Many plain connections by one thread.
class EchoLoop {
 public:
  EchoLoop(const Endpoint& to, int connections) : epoll_(::epoll_create1(0)) {
    for (int i = 0; i < connections; ++i) {
      const int socket = connect_to(to.port);
      if (socket < 0) give_up("connect");
      const std::string first = head('E', 0);
      if (::send(socket, first.data(), first.size(), MSG_NOSIGNAL) < 0) give_up("echo");
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.u32 = static_cast<uint32_t>(i);
      ::epoll_ctl(epoll_, EPOLL_CTL_ADD, socket, &event);
      connections_.push_back({.socket = socket});
    }
  }
  ~EchoLoop() {
    for (const Connection& connection : connections_) ::close(connection.socket);
    ::close(epoll_);
  }
  EchoLoop(const EchoLoop&) = delete;
  EchoLoop& operator=(const EchoLoop&) = delete;

  void run(DelayHistogram& delays, int64_t until) {
    for (Connection& connection : connections_) send(connection);
    std::array<epoll_event, 64> events{};
    while (now_nanoseconds() < until) {
      const int count = ::epoll_wait(epoll_, events.data(), events.size(), 100);
      for (int i = 0; i < count; ++i)
        receive(connections_[events[static_cast<size_t>(i)].data.u32], delays);
    }
  }

 private:
  struct Connection {
    int socket = -1;
    int64_t begin = 0;
    size_t have = 0;
  };

  static void send(Connection& connection) {
    static constexpr std::array<char, kEchoBytes> kBytes{};
    connection.begin = now_nanoseconds();
    connection.have = 0;
    if (::send(connection.socket, kBytes.data(), kBytes.size(), MSG_NOSIGNAL) != kEchoBytes)
      give_up("echo");
  }

  static void receive(Connection& connection, DelayHistogram& delays) {
    std::array<char, kEchoBytes> bytes{};
    const ssize_t count =
        ::recv(connection.socket, bytes.data(), kEchoBytes - connection.have, MSG_DONTWAIT);
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) give_up("echo: cut");
    connection.have += static_cast<size_t>(count);
    if (connection.have < kEchoBytes) return;
    delays.record(now_nanoseconds() - connection.begin);
    send(connection);
  }

  int epoll_;
  std::vector<Connection> connections_;
};

}  // namespace

double bulk(const Endpoint& to, char what, int connections, uint64_t bytes_each) {
  const int64_t begin = now_nanoseconds();
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < connections; ++i)
      threads.emplace_back([&] { transfer(to, what, bytes_each, nullptr); });
  }
  const double seconds = static_cast<double>(now_nanoseconds() - begin) / 1e9;
  return static_cast<double>(bytes_each) * connections / 1e6 / seconds;
}

Echoes echo(const Endpoint& to, int connections, double seconds) {
  DelayHistogram delays;
  if (to.tls_cipher.empty() && connections > 1) {
    EchoLoop loop(to, connections);
    loop.run(delays, from_now(seconds));
    return summary(delays, seconds);
  }
  {
    std::vector<std::unique_ptr<Client>> clients;
    for (int i = 0; i < connections; ++i) clients.push_back(std::make_unique<Client>(to));
    const int64_t until = from_now(seconds);
    std::vector<std::jthread> threads;
    for (int i = 1; i < connections; ++i)
      threads.emplace_back([&, i] { echo_on(*clients[static_cast<size_t>(i)], delays, until); });
    echo_on(*clients[0], delays, until);
  }
  return summary(delays, seconds);
}

Echoes echo_under_bulk(const Endpoint& to, double seconds) {
  DelayHistogram delays;
  std::atomic<bool> ending = false;
  std::jthread bulk([&] { transfer(to, 'D', uint64_t{1} << 50, &ending); });
  // The transfer is at its full speed before the first echo counts.
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  Client client(to);
  echo_on(client, delays, from_now(seconds));
  ending = true;
  return summary(delays, seconds);
}

double new_connections(const Endpoint& to, int workers, double seconds) {
  std::atomic<uint64_t> made = 0;
  const int64_t until = from_now(seconds);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < workers; ++i) {
      threads.emplace_back([&] {
        const std::string first = head('E', 0) + "x";
        while (now_nanoseconds() < until) {
          Client client(to);
          char answer = 0;
          if (!client.write(first.data(), first.size()) || !client.read_all(&answer, 1))
            give_up("a new connection was cut");
          ++made;
        }
      });
    }
  }
  return static_cast<double>(made) / seconds;
}

bool echoes_once(const Endpoint& to) {
  const int socket = connect_to(to.port);
  if (socket < 0) return false;
  const timeval patience{.tv_sec = 2, .tv_usec = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const std::string first = head('E', 0) + "x";
  char answer = 0;
  const bool came = ::send(socket, first.data(), first.size(), MSG_NOSIGNAL) > 0 &&
                    ::recv(socket, &answer, 1, 0) == 1;
  ::close(socket);
  return came;
}

IdleConnections::IdleConnections(const Endpoint& to, int count) {
  const std::string first = head('E', 0) + "x";
  for (int i = 0; i < count; ++i) {
    const int socket = connect_to(to.port);
    char answer = 0;
    if (socket < 0 || ::send(socket, first.data(), first.size(), MSG_NOSIGNAL) < 0 ||
        ::recv(socket, &answer, 1, 0) != 1)
      give_up("an idle connection");
    sockets_.push_back(socket);
  }
}

IdleConnections::~IdleConnections() {
  for (const int socket : sockets_) ::close(socket);
}

}  // namespace holdfast::bench

#include "tunnel_app.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/check.h"

namespace holdfast::bench {
namespace {

constexpr size_t kChunk = 256 << 10;

struct Listener {
  int socket = -1;
  uint16_t port = 0;
};

Listener listen_on_loopback() {
  Listener made;
  made.socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  HF_CHECK(::bind(made.socket, generic, size) == 0, "a port of loopback is free");
  HF_CHECK(::listen(made.socket, 4096) == 0, "a bound socket listens");
  HF_CHECK(::getsockname(made.socket, generic, &size) == 0, "a bound socket has a name");
  made.port = ntohs(address.sin_port);
  return made;
}

struct Asked {
  char what = 0;
  uint64_t left = 0;
};

Asked parse_head(const char* bytes) {
  Asked asked{.what = bytes[0]};
  std::memcpy(&asked.left, bytes + 1, sizeof asked.left);
  return asked;
}

// The plain listener: one thread, one epoll.
class PlainApp {
 public:
  explicit PlainApp(int listener) : listener_(listener), epoll_(::epoll_create1(0)) {
    watch(listener_, EPOLLIN, EPOLL_CTL_ADD);
  }

  [[noreturn]] void run() {
    std::array<epoll_event, 256> events{};
    for (;;) {
      const int count = ::epoll_wait(epoll_, events.data(), events.size(), -1);
      for (int i = 0; i < count; ++i) {
        const int socket = events[static_cast<size_t>(i)].data.fd;
        if (socket == listener_) {
          accept_one();
        } else if (!serve(socket, connections_[socket])) {
          connections_.erase(socket);
          ::close(socket);
        }
      }
    }
  }

 private:
  struct Connection {
    std::string head{};
    Asked asked{};
    std::string pending{};
    bool waits_to_write = false;
  };

  void watch(int socket, uint32_t events, int operation) const {
    epoll_event event{};
    event.events = events;
    event.data.fd = socket;
    ::epoll_ctl(epoll_, operation, socket, &event);
  }

  void accept_one() {
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK);
    if (socket < 0) return;
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    connections_[socket];
    watch(socket, EPOLLIN, EPOLL_CTL_ADD);
  }

  void want_write(int socket, Connection& connection, bool wanted) {
    if (connection.waits_to_write == wanted) return;
    connection.waits_to_write = wanted;
    watch(socket, wanted ? EPOLLOUT : EPOLLIN, EPOLL_CTL_MOD);
  }

  // False: the connection is over.
  bool serve(int socket, Connection& connection) {
    if (connection.head.size() < kHeadBytes) {
      std::array<char, kHeadBytes> bytes{};
      const ssize_t count = ::recv(socket, bytes.data(), kHeadBytes - connection.head.size(), 0);
      if (count == 0 || (count < 0 && errno != EAGAIN)) return false;
      if (count > 0) connection.head.append(bytes.data(), static_cast<size_t>(count));
      if (connection.head.size() < kHeadBytes) return true;
      connection.asked = parse_head(connection.head.data());
    }
    switch (connection.asked.what) {
      case 'D':
        return give(socket, connection);
      case 'U':
        return take(socket, connection);
      default:
        return echo(socket, connection);
    }
  }

  bool give(int socket, Connection& connection) {
    while (connection.asked.left > 0) {
      const size_t most = std::min<uint64_t>(connection.asked.left, buffer_.size());
      const ssize_t sent = ::send(socket, buffer_.data(), most, MSG_NOSIGNAL);
      if (sent < 0 && errno != EAGAIN) return false;
      want_write(socket, connection, true);
      if (sent < 0) return true;
      connection.asked.left -= static_cast<uint64_t>(sent);
    }
    want_write(socket, connection, false);
    return ::recv(socket, buffer_.data(), 1, MSG_PEEK) != 0;
  }

  bool take(int socket, Connection& connection) {
    const ssize_t count = ::recv(socket, buffer_.data(), buffer_.size(), 0);
    if (count == 0 || (count < 0 && errno != EAGAIN)) return false;
    if (count < 0) return true;
    connection.asked.left -= std::min<uint64_t>(connection.asked.left, static_cast<size_t>(count));
    return connection.asked.left > 0 || ::send(socket, "!", 1, MSG_NOSIGNAL) == 1;
  }

  bool echo(int socket, Connection& connection) {
    if (connection.pending.empty()) {
      const ssize_t count = ::recv(socket, buffer_.data(), 16 << 10, 0);
      if (count == 0 || (count < 0 && errno != EAGAIN)) return false;
      if (count < 0) return true;
      connection.pending.assign(buffer_.data(), static_cast<size_t>(count));
    }
    const ssize_t sent =
        ::send(socket, connection.pending.data(), connection.pending.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) return false;
    if (sent > 0) connection.pending.erase(0, static_cast<size_t>(sent));
    want_write(socket, connection, !connection.pending.empty());
    return true;
  }

  int listener_;
  int epoll_;
  std::unordered_map<int, Connection> connections_;
  std::vector<char> buffer_ = std::vector<char>(kChunk);
};

bool read_all(SSL* ssl, char* into, size_t size) {
  size_t have = 0;
  while (have < size) {
    size_t count = 0;
    if (SSL_read_ex(ssl, into + have, size - have, &count) != 1) return false;
    have += count;
  }
  return true;
}

void serve_tls(SSL* ssl) {
  std::vector<char> buffer(kChunk);
  std::array<char, kHeadBytes> bytes{};
  if (SSL_accept(ssl) != 1 || !read_all(ssl, bytes.data(), bytes.size())) return;
  Asked asked = parse_head(bytes.data());
  size_t count = 0;
  if (asked.what == 'D') {
    while (asked.left > 0) {
      const size_t most = std::min<uint64_t>(asked.left, buffer.size());
      if (SSL_write_ex(ssl, buffer.data(), most, &count) != 1) return;
      asked.left -= count;
    }
    return;
  }
  while (SSL_read_ex(ssl, buffer.data(), buffer.size(), &count) == 1) {
    if (asked.what == 'E') {
      if (SSL_write_ex(ssl, buffer.data(), count, &count) != 1) return;
      continue;
    }
    asked.left -= std::min<uint64_t>(asked.left, count);
    if (asked.left == 0 && SSL_write_ex(ssl, "!", 1, &count) != 1) return;
  }
}

// One thread for each connection: this listener is a limit to compare with, not a product.
[[noreturn]] void run_tls(int listener, const AppTls& tls) {
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_default_read_buffer_len(context, kChunk);
  HF_CHECK(SSL_CTX_use_certificate_chain_file(context, tls.certificate_file.c_str()) == 1 &&
               SSL_CTX_use_PrivateKey_file(context, tls.key_file.c_str(), SSL_FILETYPE_PEM) == 1,
           "the benchmark made a certificate");
  for (;;) {
    const int socket = ::accept(listener, nullptr, nullptr);
    if (socket < 0) continue;
    std::thread([context, socket] {
      const int on = 1;
      ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      SSL* ssl = SSL_new(context);
      SSL_set_fd(ssl, socket);
      serve_tls(ssl);
      SSL_shutdown(ssl);
      SSL_free(ssl);
      ::close(socket);
    }).detach();
  }
}

}  // namespace

std::string head(char what, uint64_t count) {
  std::string text(kHeadBytes, what);
  std::memcpy(text.data() + 1, &count, sizeof count);
  return text;
}

TunnelApp::TunnelApp(const AppTls& tls) {
  const Listener plain = listen_on_loopback();
  const Listener secure = listen_on_loopback();
  port_ = plain.port;
  tls_port_ = secure.port;
  pid_ = ::fork();
  HF_CHECK(pid_ >= 0, "a process can be started");
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::signal(SIGPIPE, SIG_IGN);
    std::thread([&] { run_tls(secure.socket, tls); }).detach();
    PlainApp(plain.socket).run();
  }
  ::close(plain.socket);
  ::close(secure.socket);
}

TunnelApp::~TunnelApp() {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

}  // namespace holdfast::bench

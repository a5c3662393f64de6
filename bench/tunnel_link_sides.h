// The processes of bench/tunnel_link: a proxy and an agent with nothing but a link between them,
// and an app that echoes, sends or discards, plain and under TLS.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "net/tls_context.h"

namespace holdfast::bench {

struct Credentials {
  std::string ca_pem;
  std::string proxy_pem, proxy_key;
  std::string agent_pem, agent_key;
};
Credentials make_credentials();

struct Sides {
  pid_t proxy, agent, app;
  uint16_t proxy_port;  // clients'
  uint16_t app_port;    // without a tunnel
  uint16_t tls_port;    // the same under TLS
};
// `idle` more tunnels than the one that is used.
Sides start_sides(const Credentials& credentials, int idle);
void stop_sides(const Sides& sides);

// Serves one connection until its client goes. The first byte asks: 'E' echo, 'D' send for ever,
// 'U' discard.
template <typename Wire>
void serve_app(Wire& wire) {
  char what = 0;
  std::vector<char> buffer(64 << 10);
  if (wire.read(&what, 1) != 1) return;
  for (;;) {
    ssize_t count =
        what == 'D' ? static_cast<ssize_t>(buffer.size()) : wire.read(buffer.data(), buffer.size());
    if (count <= 0) return;
    if (what != 'U' && !wire.write(buffer.data(), static_cast<size_t>(count))) return;
  }
}

// A blocking connection, plain or under TLS.
class Wire {
 public:
  Wire(int socket, SSL* ssl) : socket_(socket), ssl_(ssl) {}
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  ssize_t read(char* into, size_t size);
  bool write(const char* bytes, size_t size);
  void cut();  // what another thread reads or writes ends

 private:
  int socket_;
  SSL* ssl_;
};
// Null if nobody answers. `context` is null for a plain one.
std::unique_ptr<Wire> connect_to(uint16_t port, SSL_CTX* context);

// TLS 1.3 as fast as it goes: the cipher of tunnels, far read-ahead.
SSL_CTX* make_raw_context(const Credentials& credentials, bool server);

}  // namespace holdfast::bench

// What the tunnel benchmark does to a path: bulk both ways, echoes, new connections, idle ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::bench {

// Where clients connect, on loopback.
struct Endpoint {
  uint16_t port = 0;
  std::string tls_cipher{};  // if set, the client speaks TLS 1.3 with this suite
};

// MB/s over all connections. `what` is 'D' (from the app) or 'U' (to it).
double bulk(const Endpoint& to, char what, int connections, uint64_t bytes_each);

struct Echoes {
  double p50_us = 0;
  double p99_us = 0;
  double per_second = 0;
};
// 64 bytes there and back, again and again on each connection.
Echoes echo(const Endpoint& to, int connections, double seconds);
// One echo connection while a bulk transfer from the app runs beside it.
Echoes echo_under_bulk(const Endpoint& to, double seconds);

// Connect, one byte there and back, close: how many a second by this many workers.
double new_connections(const Endpoint& to, int workers, double seconds);

// Whether one byte comes back.
bool echoes_once(const Endpoint& to);

// Connections that have echoed once and then do nothing, until it is destroyed.
class IdleConnections {
 public:
  IdleConnections(const Endpoint& to, int count);
  ~IdleConnections();
  IdleConnections(const IdleConnections&) = delete;
  IdleConnections& operator=(const IdleConnections&) = delete;

 private:
  std::vector<int> sockets_;
};

}  // namespace holdfast::bench

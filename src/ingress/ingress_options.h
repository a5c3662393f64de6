// What an ingress is allowed to take, and how long it waits.
#pragma once

#include <chrono>
#include <cstddef>

#include "base/clock.h"
#include "net/connection_limits.h"

namespace holdfast::ingress {

struct IngressOptions {
  size_t max_connections = 50'000;  // of all listeners; further ones are closed as they come
  size_t max_connections_per_address = 20'000;
  // Those that have not yet said what they want: handshakes and heads under way.
  size_t max_waiting = 4'096;
  size_t max_waiting_per_address = 1'024;
  Duration head_timeout = std::chrono::seconds(10);  // TLS handshake and head together
  Duration dial_timeout = std::chrono::seconds(15);  // above the dialer's own
  // A client that sends no more while its stream is being opened may only have nothing to say: that
  // long, then it counts as gone.
  Duration half_closed_patience = std::chrono::seconds(1);
  Duration linger = std::chrono::seconds(1);  // for the client to read a refusal
  Duration response_timeout = std::chrono::seconds(10);
  size_t max_body_bytes = 64 << 10;  // of a request that is not CONNECT
  // A new process may listen beside this one, on the same ports.
  bool reuse_port = false;
};

inline net::ConnectionBounds bounds(const IngressOptions& options) {
  return {.max_connections = options.max_connections,
          .max_connections_per_address = options.max_connections_per_address,
          .max_waiting = options.max_waiting,
          .max_waiting_per_address = options.max_waiting_per_address};
}

}  // namespace holdfast::ingress

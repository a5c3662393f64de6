// The seam between those who take connections and the tunnels that carry them.
#pragma once

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "tunnel/link_service.h"

namespace holdfast::tunnel {

// What someone who may have it wants to reach.
struct Wanted {
  std::string service{};
  std::string port{};    // name or number; empty: the first
  std::string client{};  // "10.0.0.7:51234"
  std::string user{};    // "user/alice"; empty: nobody said
};

// Where it went.
struct Reached {
  std::string agent{};
  std::string zone{};
  std::string via{};  // the peer proxy; empty: a tunnel of our own
};

class StreamDialer {
 public:
  virtual ~StreamDialer() = default;
  // Opens a stream to an agent that carries the service, trying the next one if one refuses. Takes
  // `end` only if it is OK. kNotFound HF2201: no such service; kUnavailable HF2202: nobody carries
  // it now; HF2205: those that do find it unhealthy, and nobody is sent there; HF2203: all that do
  // refused; kDeadlineExceeded HF2204; kResourceExhausted HF2206 to HF2208: every zone is full.
  virtual asio::awaitable<Result<Reached>> dial(const Wanted& wanted,
                                                std::unique_ptr<StreamEnd>& end) = 0;
};

}  // namespace holdfast::tunnel

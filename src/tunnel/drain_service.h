// Carries out a proxy's DrainPlan: says each step to whom it concerns, and closes at the end.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <optional>

#include "net/task_group.h"
#include "tunnel/peer_service.h"
#include "tunnel/proxy_shared_service.h"
#include "tunnel/tunnel_server.h"

namespace holdfast::tunnel {

class DrainService {
 public:
  // Everything outlives it.
  struct Parts {
    ProxyShared& shared;
    TunnelServer& tunnels;
    PeerService& peers;
  };
  struct Asks {
    std::function<asio::awaitable<bool>()> announce{};  // whether a controller took it
    std::function<asio::awaitable<void>()> close_ingress{};
  };
  DrainService(Parts parts, Asks asks);

  // Begins if it had not; returns at the end, or when stop() is called.
  // `deadline` replaces the options' one; of later calls it counts if it is earlier.
  asio::awaitable<void> drain(std::optional<Duration> deadline = {});
  // One that is under way ends within this time at the latest.
  void shorten(Duration deadline);
  void hurry();
  // The load may have fallen, or a tunnel come.
  void wake() { turn_.cancel(); }
  asio::awaitable<void> stop();

  DrainProgress progress() const;

 private:
  void begin(std::optional<Duration> deadline);
  asio::awaitable<void> run();
  asio::awaitable<void> announce();
  asio::awaitable<void> close_ingress();
  asio::awaitable<void> close_all(bool in_time);
  DrainLoad load() const;
  // True if that was the last step.
  asio::awaitable<bool> carry_out(DrainStep step);
  void tell_others();

  Parts parts_;
  Asks asks_;
  bool begun_ = false;
  bool over_ = false;
  bool stopping_ = false;
  bool closing_ingress_ = false;
  bool ingress_closed_ = false;
  WallTime since_{};
  std::optional<WallTime> ended_;
  size_t cut_ = 0;
  asio::steady_timer turn_;
  asio::steady_timer end_;  // cancelled at the end
  net::TaskGroup tasks_;
};

}  // namespace holdfast::tunnel

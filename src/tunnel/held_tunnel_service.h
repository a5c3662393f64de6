// One agent's tunnel at a proxy: its first words, then its streams, what it exposes, what it is
// told. Lives in the coroutine that runs it.
//
//   (connected) ── hello ──► welcomed, in the table ── goodbye ──► leaving ── last stream ──► over
//        └── a hello that is wrong, late or unwanted ──► refused ──► over
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tunnel/proxy_shared_service.h"
#include "tunnel/secure_connection_service.h"

namespace holdfast::tunnel {

class HeldTunnel final : public LinkOwner {
 public:
  struct Admitted {
    Time hello_by{};                    // then it is closed
    std::optional<Duration> refuse{};   // HF2103, with this as its retry_after
    std::function<Duration()> retry{};  // for who is refused for another reason
    std::function<void(HeldTunnel&, Admission::Outcome)> greeted{};  // once, unless it ends before
  };
  HeldTunnel(ProxyShared& shared, std::unique_ptr<SecureConnection> connection, Admitted admitted);
  ~HeldTunnel() override;

  // Until the tunnel is over; why. In the table only meanwhile.
  asio::awaitable<Status> run();

  // Opens a stream on it; as Link::open().
  asio::awaitable<Status> open(v1::OpenStream wanted, std::unique_ptr<StreamEnd>& end,
                               Duration timeout);
  void advise(std::string_view code, std::string_view reason, Duration closes_in);
  // Sends what there is to tell of proxies.
  void send_discovery(Time now);
  void on_tick(Time now);
  void set_keepalive(Duration interval, uint32_t misses) { link_.set_keepalive(interval, misses); }
  void say_goodbye(std::string_view why) { link_.say_goodbye(why); }
  void close(Status why) { link_.close(std::move(why)); }

  TunnelId id() const { return id_; }  // 0: not welcomed
  const std::string& agent() const { return who_.name; }
  const identity::Identity& who() const { return who_; }
  const Session& session() const { return link_.session(); }
  TunnelStatus describe() const;

  void on_open(Link& link, StreamId stream, std::string_view payload) override;
  Status on_message(Link& link, std::string_view payload) override;
  void on_goodbye(Link& link, std::string_view why) override;

 private:
  void greet(std::string_view payload);
  Status welcome(const v1::TunnelHello& hello);
  void refuse(const Status& why, Duration retry_after);
  Status take_exposed(const v1::Exposed& exposed);
  void check_certificate();

  ProxyShared& shared_;
  Admitted admitted_;
  const identity::Identity who_;
  const std::string address_;
  const WallTime since_;
  const WallTime expires_;  // the agent's certificate does
  TunnelId id_ = 0;
  bool greeted_ = false;
  bool left_ = false;
  bool advised_ = false;
  bool expired_ = false;
  Time heard_{};  // as the table was told
  std::string version_;
  v1::Exposed exposed_;
  Discovery::Cursor told_;
  size_t opening_ = 0;
  asio::steady_timer settled_;  // cancelled when nothing is being opened any more
  Link link_;
};

}  // namespace holdfast::tunnel

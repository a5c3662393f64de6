// A link between two proxies, at either side. The dialling proxy opens streams on it and is told
// what the other holds; the dialled one serves them from tunnels of its own, and from nothing else.
// Neither side uses it any more for what is new when the other's certificate has expired.
//
//   DialledPeer ── hello, OPEN ──► CallingPeer ──► TunnelTable ──► an agent's tunnel
//               ◄── welcome, Holding, Holding, ... ──
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/task_group.h"
#include "tunnel/held_tunnel_service.h"
#include "tunnel/proxy_shared_service.h"
#include "tunnel/relay_end_service.h"
#include "tunnel/renewal.h"
#include "tunnel/secure_connection_service.h"

namespace holdfast::tunnel {

// The side that dialled.
class DialledPeer final : public LinkOwner {
 public:
  struct Uses {
    WallTime own_expires{};  // the certificate that it was dialled with does
    // It was welcomed, and is the link to the peer from now on: an older one must retire().
    std::function<void(DialledPeer&)> linked{};
    // What the peer says of itself: whether it drains.
    std::function<void(bool draining)> said{};
  };
  DialledPeer(ProxyShared& shared, std::unique_ptr<SecureConnection> connection, Uses uses);

  // Says hello and keeps the link until it is over; why. The peer is in the table as linked from
  // its welcome to its goodbye or the end.
  asio::awaitable<Status> run();
  asio::awaitable<Status> open(const v1::OpenStream& wanted, std::unique_ptr<StreamEnd>& end,
                               Duration timeout);
  void on_tick(Time now);
  void close(Status why) { link_.close(std::move(why)); }
  void say_goodbye(std::string_view why);
  // Another link to the peer is there: what runs on this one finishes.
  void retire();
  void set_keepalive(Duration interval, uint32_t misses) { link_.set_keepalive(interval, misses); }

  bool is_linked() const { return linked_; }
  // Whether it should be made anew by now.
  bool nears_its_end(Duration lead) const;
  bool was_welcomed() const { return welcomed_; }
  const identity::Identity& who() const { return who_; }
  const Session& session() const { return link_.session(); }

  void on_open(Link& link, StreamId stream, std::string_view payload) override;
  Status on_message(Link& link, std::string_view payload) override;
  void on_goodbye(Link& link, std::string_view why) override;

 private:
  Status take_first(const v1::TunnelMessage& message);
  void unlink();
  void check_certificate();

  ProxyShared& shared_;
  Uses uses_;
  const identity::Identity who_;
  const TunnelLife life_;
  const Time welcome_by_;
  bool welcomed_ = false;
  bool linked_ = false;
  Time heard_{};
  size_t opening_ = 0;
  asio::steady_timer settled_;
  Link link_;
};

// The side that was dialled.
class CallingPeer final : public LinkOwner {
 public:
  struct Uses {
    Time hello_by{};    // then it is closed
    bool full = false;  // it is refused, HF2103
    std::function<HeldTunnel*(TunnelId)> find{};
    std::function<void(CallingPeer&, bool welcome)> greeted{};  // once, unless it ends before
  };
  CallingPeer(ProxyShared& shared, std::unique_ptr<SecureConnection> connection, Uses uses);

  asio::awaitable<Status> run();
  // Tells what has changed in the table since it was last told.
  void send_holding();
  void advise(std::string_view code, std::string_view reason, Duration closes_in);
  void on_tick(Time now);
  void close(Status why) { link_.close(std::move(why)); }
  void say_goodbye(std::string_view why) { link_.say_goodbye(why); }
  // The peer has dialled anew: it leaves this one by itself, or has lost it.
  void leave_by(Time time) { leave_by_ = time; }
  void set_keepalive(Duration interval, uint32_t misses) { link_.set_keepalive(interval, misses); }
  const std::string& name() const { return who_.name; }
  const identity::Identity& who() const { return who_; }

  void on_open(Link& link, StreamId stream, std::string_view payload) override;
  Status on_message(Link& link, std::string_view payload) override;
  void on_goodbye(Link& link, std::string_view why) override;

 private:
  asio::awaitable<void> relay(StreamId stream, v1::OpenStream wanted, RelayPair pair);
  void check_certificate();
  size_t given_up() const;
  void refuse_stream(StreamId stream, ResetCode code, std::string_view why);
  Status judge(std::string_view payload) const;
  void refuse(const Status& why);

  ProxyShared& shared_;
  Uses uses_;
  const identity::Identity who_;
  const WallTime expires_;  // its certificate does
  std::optional<Time> leave_by_;
  bool greeted_ = false;
  bool welcomed_ = false;
  TunnelTable::Cursor told_;
  size_t opening_ = 0;  // streams that their agents have not answered
  net::TaskGroup relays_;
  Link link_;
};

}  // namespace holdfast::tunnel

// One tunnel of an agent, from the first packet to its end.
//
//   connect, TLS ─► is it a proxy, and not claimed? ─► hello ─► welcome ─► streams ─► goodbye ─►
//   end
//        └─ Failed ─────────┴─ AlreadyClaimed   Refused ─┘       Lost ─┴──────────┘  Drained ─┘
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "holdfast/v1/tunnel.pb.h"
#include "identity/certificate.h"
#include "net/tls_context.h"
#include "tunnel/agent_pool_types.h"
#include "tunnel/forward_service.h"
#include "tunnel/link_service.h"
#include "tunnel/renewal.h"
#include "tunnel/secure_connection_service.h"

namespace holdfast::tunnel {

struct TunnelEnd {
  enum class How : uint8_t { Failed, Refused, AlreadyClaimed, Lost, Drained };
  How how = How::Failed;
  Status why{};
  Refusal refusal{};   // if it was refused
  size_t streams = 0;  // that ended with it
};

class AgentTunnel final : public LinkOwner {
 public:
  // Everything outlives it.
  struct Parts {
    asio::any_io_executor loop;
    const Clock& clock;
    identity::Trust& trust;
    LinkBuffers& buffers;
    ForwardService& forward;
  };
  // What it asks of its owner and tells it; on the loop, from run().
  struct Hooks {
    std::function<bool(const std::string& proxy)> may_claim;
    std::function<void(const ProxyInfo& proxy)> connected;
    std::function<void(const v1::Discovery&)> discovery;
    std::function<void(const v1::Advice&)> advice;
    std::function<void(std::string_view why)> goodbye;
  };
  struct Plan {
    Dial dial;
    std::shared_ptr<const net::TlsContext> context;
    v1::TunnelHello hello;
    LinkOptions link;
    WallTime expires{};  // our certificate does
  };
  AgentTunnel(Parts parts, Hooks hooks, Plan plan);
  ~AgentTunnel() override;

  // Once. Cancelling it closes the tunnel.
  asio::awaitable<TunnelEnd> run();

  // Nothing new; what runs finishes, then run() ends. Requires: connected.
  void drain(std::string_view why);
  void close(const Status& why);
  void send_exposed(const v1::Exposed& exposed);
  void set_keepalive(Duration interval, uint32_t misses);

  const std::string& address() const { return plan_.dial.address; }
  const std::string& proxy() const { return proxy_; }  // empty until it is known
  bool is_connected() const { return welcomed_ && link_ != nullptr; }
  bool is_draining() const { return draining_; }
  bool is_closed() const { return closed_.has_value(); }  // by close()
  WallTime since() const { return since_; }               // connected
  // Requires: connected.
  TunnelLife life() const;
  const Session& session() const { return link_->session(); }
  // What its session counted; nothing if it never had one.
  SessionStats session_stats() const { return link_ ? session().stats() : SessionStats{}; }

 private:
  void on_open(Link& link, StreamId stream, std::string_view payload) override;
  Status on_message(Link& link, std::string_view payload) override;
  void on_goodbye(Link& link, std::string_view why) override;

  Status check_claim(const std::string& proxy) const;
  Status take_welcome(const v1::TunnelWelcome& welcome);
  asio::awaitable<Status> serve(std::unique_ptr<SecureConnection> connection, Duration left);
  asio::awaitable<bool> watch(Duration limit);
  TunnelEnd judge(Status ended, size_t streams) const;

  Parts parts_;
  Hooks hooks_;
  Plan plan_;
  std::string proxy_;
  std::string zone_;
  bool welcomed_ = false;
  bool draining_ = false;  // either side said goodbye
  WallTime since_{};
  std::optional<Status> closed_;  // by close()
  std::optional<Refusal> refusal_;
  std::unique_ptr<Link> link_;
};

}  // namespace holdfast::tunnel

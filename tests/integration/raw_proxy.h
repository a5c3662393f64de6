// A proxy of bare links, for tests of agents: it takes tunnels and does with each what the test
// says, be it right or wrong.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "holdfast/v1/tunnel.pb.h"
#include "net/task_group.h"
#include "net/tls_context.h"
#include "tunnel/link_service.h"
#include "tunnel/secure_connection_service.h"
#include "tunnel_cluster.h"

namespace holdfast::test {

namespace asio = boost::asio;

struct RawProxyOptions {
  std::string name{};
  std::string zone{};
  TunnelPems pems{};   // of anyone: that is what is tested
  uint16_t port = 0;   // 0: any
  std::string said{};  // in its welcome instead of its name
  bool answers = true;
  std::optional<v1::TunnelRefusal> refusal{};
};

class RawProxy final : public tunnel::LinkOwner {
 public:
  RawProxy(asio::io_context& loop, RawProxyOptions options);

  struct Held {
    std::unique_ptr<tunnel::Link> link;
    v1::TunnelHello hello{};
    v1::Exposed exposed{};
    bool welcomed = false;
    bool said_goodbye = false;
  };
  // Oldest first; those that ended are gone.
  std::list<Held>& tunnels() { return held_; }
  size_t handshakes() const { return handshakes_; }  // that succeeded
  size_t hellos() const { return hellos_; }
  std::string address() const;
  const std::string& name() const { return options_.name; }
  RawProxyOptions& options() { return options_; }
  v1::DiscoveredProxy discovered() const;

  // On every tunnel.
  void send(const v1::TunnelMessage& message);
  void discover(const std::vector<const RawProxy*>& proxies);
  void advise(Duration closes_in);
  // As if its machine had gone.
  void cut();
  asio::awaitable<void> stop();

 private:
  void on_open(tunnel::Link& link, tunnel::StreamId stream, std::string_view payload) override;
  Status on_message(tunnel::Link& link, std::string_view payload) override;
  void on_goodbye(tunnel::Link& link, std::string_view why) override;
  asio::awaitable<void> accept();
  asio::awaitable<void> serve(net::StreamSocket socket);
  Held& held(const tunnel::Link& link);

  asio::io_context& loop_;
  RawProxyOptions options_;
  SystemClock clock_;
  tunnel::LinkBuffers buffers_;
  identity::Trust trust_;
  std::shared_ptr<const net::TlsContext> context_;
  asio::ip::tcp::acceptor acceptor_;
  uint16_t port_;
  std::list<Held> held_;
  size_t handshakes_ = 0;
  size_t hellos_ = 0;
  net::TaskGroup tasks_;
};

}  // namespace holdfast::test

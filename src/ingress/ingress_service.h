// Where clients come in: TCP ports and TLS names that the operator opened, and the public port for
// those with a certificate. Each connection becomes a stream on an agent's tunnel; this service
// owns it until then.
//
//   tcp:  ─────────────────────────────► its service ─┐
//   sni:  ─► ClientHello ──────────────► by its name ─┼─► StreamDialer ─► a tunnel
//   https ─► TLS ─► head ─► access ─► CONNECT ────────┘
//                              └────► /v1/... ─────────► PublicHandler
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "identity/identity.h"
#include "ingress/access.h"
#include "ingress/ingress_options.h"
#include "ingress/listener_spec.h"
#include "metrics/metrics.h"
#include "net/http_message.h"
#include "tunnel/stream_dialer.h"

namespace holdfast::ingress {

namespace asio = boost::asio;

// A request to the public port that is not CONNECT.
struct PublicCall {
  // Verified, and not disabled; Nobody without a certificate. Whether it may is the handler's to
  // say: grant_of(caller, VERB_UPDATE, Kind::Proxy, lookups).
  identity::Identity caller;
  const net::HttpRequest& request;
};
using PublicHandler = std::function<asio::awaitable<net::HttpResponse>(const PublicCall&)>;

class IngressService {
 public:
  // What it uses; all of it outlives the service, and the registry the last stream, too.
  struct Parts {
    asio::any_io_executor loop;
    const Clock& clock;
    metrics::Registry& registry;
    tunnel::StreamDialer& dialer;
    Lookups lookups;
    PublicHandler handler;
  };
  IngressService(Parts parts, IngressOptions options);
  // Requires: stop() has completed, or it never listened.
  ~IngressService();

  // Each returns the address it listens on, with the port it got; connections are taken from open()
  // on, and refused before. kInvalidArgument, or kUnavailable HF1106 if it cannot be had.
  Result<std::string> listen(const ListenerSpec& spec);
  Result<std::string> listen_public(const std::string& address);

  // Not after stop_listening().
  void open();

  // Of the public port, for connections from now on; until then they are refused.
  // kInvalidArgument, and no change, if it does not fit.
  Status set_identity(const std::string& certificate_chain_pem, const std::string& private_key_pem);
  // Whom to believe, and the cluster's name.
  Status set_trust(const std::string& cluster, const std::string& ca_pem);

  // Takes what waits in the backlogs, then closes the listeners. Connections go on. The public port
  // stays open until stop(), to say how things go: whoever asks it to CONNECT is refused with
  // HF2315 from now on. With `reuse_port` it is closed like the others.
  void stop_listening();
  // Ends the listeners, whoever has not reached a service yet, and all of the public port; streams
  // of the others are the dialer's.
  asio::awaitable<void> stop();

  size_t connection_count() const;  // with those that are streams now
  // Those that have not yet said what they want; not those that came after stop_listening().
  size_t waiting_count() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace holdfast::ingress

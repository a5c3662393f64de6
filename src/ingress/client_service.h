// A client's connection, and what the flows of all listeners share.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "identity/certificate.h"
#include "ingress/ingress_metrics.h"
#include "ingress/ingress_options.h"
#include "ingress/ingress_service.h"
#include "net/connection_limits.h"
#include "net/http_stream.h"
#include "net/tls_context.h"
#include "tunnel/stream_dialer.h"

namespace holdfast::ingress {

struct Client {
  net::StreamSocket socket;
  std::string source{};  // "10.0.0.7:51234"
  net::ConnectionSlot slot{};
  bool late = false;  // came when no new clients are taken any more
};

// What the connections of a service have in common.
struct IngressShared {
  IngressService::Parts parts;
  IngressOptions options;
  std::shared_ptr<IngressMetrics> metrics;  // tidy: shared, streams may outlive the service
  net::ConnectionSlot::Limits limits;
  identity::Trust trust{};
  std::string cluster{};
  std::shared_ptr<const net::TlsContext> tls{};
};

// Where a connection's bytes are while its stream is opened.
struct Waiting {
  int socket = -1;
  bool tls = false;  // then the end of what the client sends is its end
};
// StreamDialer::dial(), given up when the client has gone. kCancelled HF2307 then, and `end` may be
// taken all the same if both happened at once.
asio::awaitable<Result<tunnel::Reached>> dial_for(IngressShared& shared, tunnel::Wanted wanted,
                                                  std::unique_ptr<tunnel::StreamEnd>& end,
                                                  Waiting client);

// Of the last response on a connection.
std::string head_of(const IngressShared& shared, const net::HttpResponse& response);

// Reads what the client still sends, so that the last answer is not lost to a reset, for as long as
// the options say. Then closes.
asio::awaitable<void> linger(IngressShared& shared, net::HttpStream& stream);

}  // namespace holdfast::ingress

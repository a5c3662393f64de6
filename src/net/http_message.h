// What an HTTP server hands to its handler and gets back, and what a client asks and is answered.
// No parsing, no sockets.
#pragma once

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "net/http_target.h"

namespace holdfast::net {

namespace asio = boost::asio;

struct HttpPeer {
  std::string source{};     // "10.0.0.7:40112", or "unix"
  std::string chain_pem{};  // the certificates it presented, its own first; unverified, but it
                            // holds the key of the first. Empty: none
  bool local = false;       // came in by a unix socket
};

struct HttpRequest {
  HttpPeer peer{};
  std::string method{};  // as sent: "GET"
  HttpTarget target{};
  // Byte for byte as sent, if the server's option raw_targets says so; `target` is empty then.
  std::string raw_target{};
  // Content-Type, Idempotency-Key, If-Match and Last-Event-ID, by their names in lower case; no
  // others are kept. One that was sent more than once has all its values, with ", " between them.
  std::map<std::string, std::string> headers{};
  std::string body{};
  Time began{};  // when its first byte came
};

// Where a handler writes a response that has no end of its own.
class HttpSink {
 public:
  virtual ~HttpSink() = default;
  // Returns once the bytes are on their way. Fails when the peer is gone, or has not read for the
  // write time-out; the stream must end then.
  virtual asio::awaitable<Status> write(std::string_view bytes) = 0;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers{};
  std::string body{};
  // If set, `body` is not used: this is run after the head is sent, and cancelled when the peer
  // goes. The connection ends with it.
  std::function<asio::awaitable<void>(HttpSink&)> stream{};
  // If set, nothing is sent: the connection is reset, for a peer that takes any answer for a yes.
  bool reset = false;
};

// The request lives until the handler has its response.
using HttpHandler = std::function<asio::awaitable<HttpResponse>(const HttpRequest&)>;

// {"error":{"code":"HF6030","message":"..."}}. Requires: texts that need no escapes in JSON.
HttpResponse http_error(int status, std::string_view code, std::string_view message);

// What a head says besides what the response itself does.
struct HttpFraming {
  bool close = false;
  bool chunked = false;
  std::string_view date{};  // as of http_date(); empty: none is said
};
// "Sun, 15 Nov 2026 08:30:00 GMT".
std::string http_date(WallTime now);
// Status line and headers with the empty line after them. A value with a control character in it
// is left out.
std::string format_head(const HttpResponse& response, const HttpFraming& framing);
std::string_view reason_phrase(int status);  // "Not Found"; "" if it has none

// What a client asks.
struct HttpCall {
  std::string method = "GET";
  std::string target = "/";  // path and query, escaped as they are sent
  // Besides Host, Content-Length and Connection, which are the client's own.
  std::vector<std::pair<std::string, std::string>> headers{};
  std::string body{};
};
// GET, HEAD, or with an Idempotency-Key: the server may get it twice and does it once.
bool may_be_repeated(const HttpCall& call);
// The bytes to send. kInvalidArgument if a part of it cannot be sent as it is.
Result<std::string> format_call(const HttpCall& call, std::string_view host);

struct HttpAnswer {
  int status = 0;
  // By their names in lower case; of one name, all values with ", " between them.
  std::map<std::string, std::string> headers{};
  std::string body{};
};

}  // namespace holdfast::net

// An HTTP/1.1 client that keeps one connection and goes elsewhere when it is told to: a server that
// says `Connection: close`, speaks HTTP/1.0 or just closes gets no further request on that
// connection; the next one is dialled anew, and may reach another server behind the same address.
//
//   HttpClient client(loop, {.addresses = {"lb.example:8080"}});
//   CO_TRY(HttpAnswer answer, co_await client.ask({.target = "/v1/caches"}));
//
// A request is sent twice only if it may be (may_be_repeated()), the connection had been used
// before, and not one byte of an answer came. Else a failure after sending is kUnavailable, and
// says "outcome unknown".
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "net/http_message.h"
#include "net/http_parser.h"
#include "net/http_stream.h"
#include "net/tls_context.h"

namespace holdfast::net {

struct HttpClientOptions {
  // "HOST:PORT", "[::1]:8080" or "unix:PATH", tried in this order. After a goodbye the one behind
  // it in the list comes first.
  std::vector<std::string> addresses{};
  std::shared_ptr<const TlsContext> tls{};             // a client's; null: plain
  std::string host{};                                  // of the Host header; empty: the address's
  HttpLimits limits{};                                 // of one answer: kResourceExhausted
  Duration connect_timeout = std::chrono::seconds(2);  // of one address
  Duration timeout = std::chrono::seconds(10);         // of one request with all it needs
};

struct HttpClientStats {
  uint64_t dialled = 0;       // connections that were opened
  uint64_t failed_dials = 0;  // addresses that were not reached
  uint64_t goodbyes = 0;      // answers after which the server closes
  uint64_t repeated = 0;      // requests that were sent twice
  uint64_t too_large = 0;     // answers over a limit
};

// Used on one executor, single-threaded or a strand, by one request at a time.
class HttpClient {
 public:
  // Requires: at least one address.
  HttpClient(const asio::any_io_executor& loop, HttpClientOptions options);
  // Requires: no request under way.
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Whatever the server answered, also 500. kInvalidArgument: cannot be sent; kUnavailable: no
  // connection, or it broke; kDeadlineExceeded; kResourceExhausted: over a limit; kDataLoss: not
  // HTTP. The next request is not harmed by any of them.
  asio::awaitable<Result<HttpAnswer>> ask(HttpCall call);

  void close();
  bool connected() const { return stream_ != nullptr; }
  // The address in use, or the one to be dialled next.
  const std::string& address() const { return options_.addresses[at_]; }
  const HttpClientStats& stats() const { return stats_; }

 private:
  asio::awaitable<Result<HttpAnswer>> exchange(const HttpCall& call);
  asio::awaitable<Status> connect();
  asio::awaitable<Result<HttpAnswer>> send_and_read(const HttpCall& call);
  asio::awaitable<Result<HttpAnswer>> read_answer(const HttpCall& call);
  void goodbye();
  Status lost(const HttpCall& call, const Status& why) const;

  asio::any_io_executor loop_;
  HttpClientOptions options_;
  std::unique_ptr<HttpStream> stream_;
  size_t at_ = 0;           // of options_.addresses
  bool answering_ = false;  // a byte of the answer has come
  bool busy_ = false;
  HttpClientStats stats_;
};

}  // namespace holdfast::net

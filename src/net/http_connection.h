// One connection of an HTTP server: requests one after the other, each phase with its deadline.
//
//   handshake ─► idle ─► header ─► body ─► handling ─► writing ─► idle, or lingering and closed
//
// Deadlines are looked at by the server's sweep (on_tick), so a waiting connection costs no timer.
#pragma once

#include <boost/asio/cancellation_signal.hpp>

#include <array>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "metrics/metrics.h"
#include "net/connection_limits.h"
#include "net/http_message.h"
#include "net/http_parser.h"
#include "net/http_stream.h"

namespace holdfast::net {

struct HttpServerOptions {
  size_t max_connections = 8'192;  // further ones are closed as they come
  size_t max_handshakes = 1'024;   // TLS handshakes under way; further ones likewise
  // The same of one address, by TCP; if peers are named.
  size_t max_connections_per_address = 6'144;
  size_t max_handshakes_per_address = 256;
  HttpLimits limits{};                    // of one request: answered with 431, 413
  size_t max_buffered_bytes = 128 << 20;  // of all bodies being read: 503
  Duration handshake_timeout = std::chrono::seconds(10);
  Duration header_timeout = std::chrono::seconds(10);  // for all of it, from its first byte
  Duration body_timeout = std::chrono::seconds(30);    // for all of it
  Duration idle_timeout = std::chrono::seconds(60);    // until the first byte of a request
  // The same of a connection in clear that has not asked anything yet: TLS has a time of its own.
  Duration first_timeout = std::chrono::seconds(10);
  Duration write_timeout = std::chrono::seconds(30);  // for every 64 KiB
  Duration linger = std::chrono::seconds(1);          // for the peer to read the last response
  // What a peer may still send meanwhile; beyond, its connection is reset and the response may be
  // lost to it.
  size_t max_discarded_bytes = 256 << 10;
  Duration grace = std::chrono::seconds(1);  // for running requests when it stops
  Duration sweep_period = std::chrono::milliseconds(100);
  // The next five are for peers that ask once per connection and may give up: probers.
  bool raw_targets = false;        // HttpRequest has its target as it was sent
  bool cancel_handlers = false;    // of peers that are gone; looked at by the sweep
  bool replace_waiting = false;    // when full, who has waited for its peer the longest gives way
  bool peer_closes_first = false;  // within the linger, so that TIME_WAIT is the peer's
  bool name_peers = true;          // HttpPeer::source is set
  // While false every response ends its connection, so that clients go elsewhere.
  std::function<bool()> healthy = [] { return true; };
};

struct HttpCounters {
  explicit HttpCounters(metrics::Registry& registry);

  metrics::Gauge connections;
  metrics::Family<metrics::Counter>& refused;   // connections, by reason
  metrics::Family<metrics::Counter>& cut;       // connections, by the phase they were too slow in
  metrics::Family<metrics::Counter>& requests;  // by status code

  void count_request(int status);

 private:
  std::map<int, metrics::Counter> known_requests_{};  // looking them up there costs more
};

constexpr size_t kMaxDiscardedBytes = 256 << 10;  // of what a peer sends after its last request

// What the connections of a server have in common.
struct HttpShared {
  HttpServerOptions options;
  const Clock& clock;
  HttpCounters counters;
  size_t buffered_bytes = 0;
  bool stopping = false;
  // The Date of every response within a second; writing it costs more than parsing a request.
  std::time_t date_second = -1;
  std::string date_text{};
};

class HttpConnection final : private HttpSink {
 public:
  // `shared` and `handler` outlive it.
  HttpConnection(HttpShared& shared, const HttpHandler& handler, std::unique_ptr<HttpStream> stream,
                 HttpPeer peer, ConnectionSlot slot);
  ~HttpConnection() override;

  // Until either side ends it. `ends` is what ends the coroutine that awaits it.
  asio::awaitable<void> run(asio::cancellation_signal& ends);
  // After run(): what its peer is to close first, if so; and until when.
  bool lingers() const { return lingers_; }
  std::unique_ptr<HttpStream> take_stream() { return std::move(stream_); }
  std::optional<Time> deadline() const { return deadline_; }
  // Its handler, if one runs, is cancelled.
  void close();
  // Closes it if its phase has lasted too long.
  void on_tick(Time now);
  bool idle() const { return phase_ == Phase::Idle; }
  // Closes it if it is the peer's turn. False if it is not, or it is closed already.
  bool give_way();

 private:
  enum class Phase { Handshake, Idle, Header, Body, Handling, Writing, Lingering };
  enum class Got { Request, Refusal, Nothing };

  void enter(Phase phase);
  asio::awaitable<bool> shake_hands();
  asio::awaitable<bool> serve_one();
  asio::awaitable<Got> read_request(HttpParser& parser);
  void read_first();
  asio::awaitable<bool> read_more(const HttpParser& parser);
  asio::awaitable<bool> respond(bool close);
  asio::awaitable<void> run_stream();
  asio::awaitable<void> discard_input(std::span<char> room);
  asio::awaitable<Status> write_pieces(std::string_view bytes);
  asio::awaitable<Status> write(std::string_view bytes) override;  // of a stream
  bool hold(size_t body_bytes);
  const std::string& date();

  HttpShared& shared_;
  const HttpHandler& handler_;
  std::unique_ptr<HttpStream> stream_;
  ConnectionSlot slot_;
  HttpRequest request_;
  HttpResponse response_;
  std::string pending_;  // read, not yet parsed
  Phase phase_ = Phase::Handshake;
  std::optional<Time> deadline_;
  asio::cancellation_signal* ends_ = nullptr;  // while it runs
  bool closed_ = false;
  bool lingers_ = false;
  bool asked_ = false;     // anything yet
  size_t held_bytes_ = 0;  // its part of shared_.buffered_bytes
  bool continue_sent_ = false;
  bool chunks_understood_ = false;
  bool chunked_ = false;  // the stream that runs
};

}  // namespace holdfast::net

#include "net/http_connection.h"

#include <fmt/format.h>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <array>

#include "net/task_group.h"

namespace holdfast::net {
namespace {

constexpr size_t kWaitingReadBytes = 2 << 10;  // what an idle connection keeps ready
constexpr size_t kBodyReadBytes = 16 << 10;
constexpr size_t kWritePieceBytes = 64 << 10;

HttpResponse busy() {
  return http_error(503, "HF1020", "too many requests are being read; try again later");
}

}  // namespace

HttpCounters::HttpCounters(metrics::Registry& registry)
    : connections(registry
                      .gauge({.name = "holdfast_http_connections",
                              .help = "HTTP connections that are open."})
                      .with()),
      refused(registry.counter({.name = "holdfast_http_refused_connections_total",
                                .help = "HTTP connections closed as they came, by reason."})),
      cut(registry.counter({.name = "holdfast_http_cut_connections_total",
                            .help = "HTTP connections that failed or were too slow, by phase."})),
      requests(registry.counter({.name = "holdfast_http_requests_total",
                                 .help = "HTTP requests answered, by status code."})) {}

void HttpCounters::count_request(int status) {
  auto known = known_requests_.find(status);
  if (known == known_requests_.end()) {
    const metrics::Counter made = requests.with({{"code", fmt::format("{}", status)}});
    known = known_requests_.emplace(status, made).first;
  }
  known->second.add();
}

HttpConnection::HttpConnection(HttpShared& shared, const HttpHandler& handler,
                               std::unique_ptr<HttpStream> stream, HttpPeer peer,
                               ConnectionSlot slot)
    : shared_(shared), handler_(handler), stream_(std::move(stream)), slot_(std::move(slot)) {
  request_.peer = std::move(peer);
  shared_.counters.connections.add(1);
}

HttpConnection::~HttpConnection() {
  hold(0);
  shared_.counters.connections.add(-1);
}

void HttpConnection::enter(Phase phase) {
  const HttpServerOptions& options = shared_.options;
  const auto within = [&](Duration duration) { deadline_ = shared_.clock.now() + duration; };
  phase_ = phase;
  deadline_.reset();
  switch (phase) {
    case Phase::Handshake:
      return within(options.handshake_timeout);
    case Phase::Idle:
      return within(asked_ || !stream_->is_plain()
                        ? options.idle_timeout
                        : std::min(options.idle_timeout, options.first_timeout));
    case Phase::Header:
      asked_ = true;
      request_.began = shared_.clock.now();
      return within(options.header_timeout);
    case Phase::Body:
      return within(options.body_timeout);
    case Phase::Writing:
      return within(options.write_timeout);
    case Phase::Lingering:
      return within(options.linger);
    case Phase::Handling:  // what the handler waits for has deadlines of its own
      return;
  }
}

void HttpConnection::on_tick(Time now) {
  static constexpr std::array<const char*, 7> kNames = {
      "handshake_timeout", "idle_timeout",  "header_timeout", "body_timeout",
      "handling_timeout",  "write_timeout", "linger_timeout"};
  if (phase_ == Phase::Handling && shared_.options.cancel_handlers && stream_->is_gone()) {
    if (!closed_) shared_.counters.cut.with({{"reason", "peer_gone"}}).add();
    return close();
  }
  if (!deadline_ || now < *deadline_) return;
  deadline_.reset();
  shared_.counters.cut.with({{"reason", kNames[static_cast<size_t>(phase_)]}}).add();
  close();
}

void HttpConnection::close() {
  closed_ = true;
  stream_->close();
  const bool ends = shared_.options.cancel_handlers && ends_ != nullptr;
  if (ends) ends_->emit(asio::cancellation_type::terminal);
}

bool HttpConnection::give_way() {
  if (closed_ || phase_ == Phase::Handling || phase_ == Phase::Writing) return false;
  deadline_.reset();  // not cut twice
  shared_.counters.cut.with({{"reason", "replaced"}}).add();
  close();
  return true;
}

asio::awaitable<void> HttpConnection::run(asio::cancellation_signal& ends) {
  ends_ = &ends;
  bool more = stream_->is_plain() || co_await shake_hands();
  while (more) more = co_await serve_one();
  ends_ = nullptr;
  if (!lingers_) stream_->close();
}

asio::awaitable<bool> HttpConnection::shake_hands() {
  enter(Phase::Handshake);
  const Status shaken = co_await stream_->handshake();
  slot_.settle();
  if (!shaken.ok()) {
    // Without a deadline it was cut by on_tick(), which counts it.
    if (deadline_) shared_.counters.cut.with({{"reason", "handshake_failed"}}).add();
    co_return false;
  }
  request_.peer.chain_pem = stream_->chain_pem();
  co_return true;
}

asio::awaitable<bool> HttpConnection::serve_one() {
  std::optional<HttpParser> parser(shared_.options.limits);
  const Got got = co_await read_request(*parser);
  if (got == Got::Nothing) co_return false;
  enter(Phase::Handling);
  Status readable;
  if (got == Got::Request) {
    readable = parser->take(request_, shared_.options.raw_targets ? HttpParser::Target::Raw
                                                                  : HttpParser::Target::Parsed);
  }
  const bool keep = got == Got::Request && parser->keep_alive();
  chunks_understood_ = parser->understands_chunks();
  parser.reset();
  if (!readable.ok()) {
    response_ = http_error(400, "HF6030",
                           std::string_view(readable.message().data(), readable.message().size()));
  } else if (got == Got::Request) {
    response_ = co_await handler_(request_);
  }
  request_.body = {};
  hold(0);
  if (closed_) co_return false;
  if (response_.reset) {
    shared_.counters.cut.with({{"reason", "reset"}}).add();
    stream_->reset();
    co_return false;
  }
  const bool more = co_await respond(!keep);
  response_ = {};
  if (!more) co_return false;
  // A peer that sends many requests at once takes turns with the others.
  co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
  co_return true;
}

asio::awaitable<HttpConnection::Got> HttpConnection::read_request(HttpParser& parser) {
  continue_sent_ = false;
  const bool first = phase_ == Phase::Handshake;
  if (first && stream_->is_plain()) read_first();
  if (pending_.empty()) pending_.shrink_to_fit();
  enter(pending_.empty() ? Phase::Idle : Phase::Header);
  for (;;) {
    if (!pending_.empty()) {
      std::expected<size_t, HttpResponse> taken = parser.put(pending_);
      if (taken && !hold(parser.body_bytes())) taken = std::unexpected(busy());
      if (!taken) {
        response_ = std::move(taken).error();
        co_return Got::Refusal;
      }
      pending_.erase(0, *taken);
      if (parser.done()) co_return Got::Request;
    }
    const bool read = co_await read_more(parser);
    if (!read) co_return Got::Nothing;
  }
}

// What came with the connection, as far as it did.
void HttpConnection::read_first() {
  pending_.resize(kWaitingReadBytes);
  const std::optional<Result<size_t>> count = stream_->read_now(pending_);
  pending_.resize(count ? count->value_or(0) : 0);
}

asio::awaitable<bool> HttpConnection::read_more(const HttpParser& parser) {
  if (phase_ != Phase::Body && parser.header_done()) enter(Phase::Body);
  if (parser.expects_continue() && !continue_sent_) {
    continue_sent_ = true;
    const Status written = co_await stream_->write("HTTP/1.1 100 Continue\r\n\r\n");
    if (!written.ok()) co_return false;
  }
  const size_t before = pending_.size();
  pending_.resize(before + (phase_ == Phase::Body ? kBodyReadBytes : kWaitingReadBytes));
  const Result<size_t> count = co_await stream_->read_some(std::span(pending_).subspan(before));
  pending_.resize(before + count.value_or(0));
  if (!count.ok() || *count == 0) co_return false;
  if (phase_ == Phase::Idle) enter(Phase::Header);
  co_return true;
}

bool HttpConnection::hold(size_t body_bytes) {
  shared_.buffered_bytes += body_bytes;
  shared_.buffered_bytes -= held_bytes_;
  held_bytes_ = body_bytes;
  return shared_.buffered_bytes <= shared_.options.max_buffered_bytes;
}

const std::string& HttpConnection::date() {
  const WallTime now = shared_.clock.wall_now();
  const auto since_1970 = now.time_since_epoch();
  const std::time_t seconds = std::chrono::duration_cast<std::chrono::seconds>(since_1970).count();
  if (seconds != shared_.date_second) {
    shared_.date_second = seconds;
    shared_.date_text = http_date(now);
  }
  return shared_.date_text;
}

asio::awaitable<bool> HttpConnection::respond(bool close) {
  const bool streams = response_.stream != nullptr;
  close = close || streams || shared_.stopping || !shared_.options.healthy();
  chunked_ = streams && chunks_understood_;
  shared_.counters.count_request(response_.status);
  std::string bytes = format_head(response_, {.close = close, .chunked = chunked_, .date = date()});
  const bool with_body = request_.method != "HEAD";
  if (with_body && !streams) bytes += response_.body;
  enter(Phase::Writing);
  const Result<size_t> sent = stream_->write_now(bytes);
  if (!sent.ok()) co_return false;
  if (*sent < bytes.size()) {
    const Status written = co_await write_pieces(std::string_view(bytes).substr(*sent));
    if (!written.ok()) co_return false;
  }
  if (with_body && streams) co_await run_stream();
  if (!close) co_return true;
  enter(Phase::Lingering);
  lingers_ = shared_.options.peer_closes_first && stream_->is_plain();
  if (lingers_) co_return false;
  if (!shared_.options.peer_closes_first) co_await stream_->finish();
  pending_.resize(kBodyReadBytes);  // nobody will look at it
  co_await discard_input(pending_);
  co_return false;
}

asio::awaitable<void> HttpConnection::run_stream() {
  using namespace asio::experimental::awaitable_operators;
  enter(Phase::Handling);
  std::array<char, 1024> unread;
  co_await (without_throwing(response_.stream(*this)) || without_throwing(discard_input(unread)));
  if (chunked_) static_cast<void>(co_await write_pieces("0\r\n\r\n"));
}

// Until the peer ends, or sends more than it has reason to.
asio::awaitable<void> HttpConnection::discard_input(std::span<char> room) {
  for (size_t total = 0; total < shared_.options.max_discarded_bytes;) {
    const Result<size_t> count = co_await stream_->read_some(room);
    if (!count.ok() || *count == 0) co_return;
    total += *count;
  }
}

asio::awaitable<Status> HttpConnection::write_pieces(std::string_view bytes) {
  while (!bytes.empty()) {
    enter(Phase::Writing);
    CO_TRY_OK(co_await stream_->write(bytes.substr(0, kWritePieceBytes)));
    bytes.remove_prefix(std::min(bytes.size(), kWritePieceBytes));
  }
  enter(Phase::Handling);
  co_return absl::OkStatus();
}

asio::awaitable<Status> HttpConnection::write(std::string_view bytes) {
  if (bytes.empty()) co_return absl::OkStatus();  // an empty chunk would end the response
  if (!chunked_) co_return co_await write_pieces(bytes);
  const std::string chunk = fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes);
  co_return co_await write_pieces(chunk);
}

}  // namespace holdfast::net

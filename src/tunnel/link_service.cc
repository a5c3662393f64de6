#include "tunnel/link_service.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/reason.h"
#include "net/as_value.h"
#include "net/within.h"
#include "tunnel/link_state_service.h"

namespace holdfast::tunnel {
namespace {

using net::kAsValue;
constexpr Duration kPartingTimeout = std::chrono::seconds(2);
// A turn of reading is short where frames cost more than their bytes: a buffer full of OPEN frames
// is twelve thousand streams, and while they are handled every other link waits. It grows as long
// as there is much to read in large frames.
constexpr size_t kLeastRead = 32 << 10;
constexpr size_t kManyEvents = 256;

}  // namespace

ssize_t StreamEnd::push_parts(std::span<const std::string_view> parts) {
  ssize_t all = 0;
  for (const std::string_view part : parts) {
    const ssize_t taken = push(part);
    if (taken < 0) return taken;
    all += taken;
    if (static_cast<size_t>(taken) < part.size()) break;
  }
  return all;
}

LinkBuffers::LinkBuffers()
    : in_(std::make_unique_for_overwrite<char[]>(kBatchBytes)),
      out_(std::make_unique_for_overwrite<char[]>(kBatchBytes)) {}

void LinkBuffers::Kept::set(size_t bytes) {
  buffers_.kept_ += bytes;
  buffers_.kept_ -= std::exchange(bytes_, bytes);
}

bool LinkBuffers::allow_stream() {
  if (kept_ <= max_kept_ / 2) return true;
  refused_streams_ += 1;
  return false;
}

bool LinkBuffers::has_room(size_t bytes) const {
  return bytes <= max_kept_ - std::min(kept_, max_kept_);
}

bool LinkBuffers::allow_bytes(size_t bytes) {
  if (has_room(bytes)) return true;
  cut_streams_ += 1;
  return false;
}

Link::State::State(Link& link, Parts parts, std::unique_ptr<SecureConnection> connection,
                   LinkOptions options)
    : link_(link),
      parts_(parts),
      options_(options),
      connection_(std::move(connection)),
      pipe_(*connection_, options.unsent_bytes),
      session_(options.session, parts.clock.now()),
      over_(parts.loop, asio::steady_timer::time_point::max()),
      timer_(parts.loop),
      batch_bytes_(LinkBuffers::kBatchBytes / 4),
      most_read_(kLeastRead) {}

Link::State::~State() {
  HF_CHECK(handlers_ == 0, "a link that ran has ended before it dies");
  drop_streams(absl::CancelledError("the tunnel is gone"));
}

// Handlers call us as long as they are counted: run() waits for the last of them.
template <typename Handler>
auto Link::State::counted(Handler handler) {
  handlers_ += 1;
  return [this, handler = std::move(handler)](const boost::system::error_code& error = {}) {
    handlers_ -= 1;
    if (outcome_) {
      over_.cancel();
    } else if (error != asio::error::operation_aborted) {
      handler();
    }
  };
}

asio::awaitable<Status> Link::State::run() {
  co_await asio::this_coro::throw_if_cancelled(false);
  HF_CHECK(!running_, "a link runs once");
  running_ = true;
  more_to_read_ = true;  // the handshake may have read further than its own end
  schedule_work();
  arm_timer();
  while (!outcome_) {
    const bool unwanted = co_await net::is_cancelled();
    if (unwanted) {
      close(absl::CancelledError("the tunnel is no longer wanted"));
    } else {
      co_await over_.async_wait(kAsValue);
    }
  }
  Streams whole = outcome_->ok() && !given_up_ ? take_whole() : Streams();
  drop_streams(*outcome_);
  streams_ = std::move(whole);
  if (outcome_->ok()) {
    // How that ends changes nothing.
    (void)co_await net::within(kPartingTimeout, part(), absl::OkStatus());
  }
  boost::system::error_code ignored;  // closed either way
  connection_->socket.close(ignored);
  co_await flush();
  timer_.cancel();
  while (handlers_ > 0) co_await over_.async_wait(kAsValue);
  std::exchange(buried_, {}).clear();
  co_return *outcome_;
}

// Closing a socket on which something has come and was not read would take back what was sent.
asio::awaitable<Status> Link::State::part() {
  pipe_.finish();
  while (!peer_closed_) {
    const Result<TlsPipe::Got> got = pipe_.read(parts_.buffers.in());
    if (!got.ok()) co_return got.status();
    peer_closed_ = got->closed;
    if (got->closed || got->more) continue;
    const auto [error] =
        co_await connection_->socket.async_wait(net::StreamSocket::wait_read, kAsValue);
    if (error) co_return absl::UnavailableError(error.message());
  }
  co_return absl::OkStatus();
}

// work() is over; what it is scheduled for wakes this instead.
asio::awaitable<void> Link::State::flush() {
  if (streams_.empty()) co_return;
  const Time end = parts_.clock.now() + options_.flush_timeout;
  timer_.expires_after(options_.flush_timeout);
  timer_.async_wait(counted([] {}));
  for (bool wanted = true; wanted;) {
    make_room();
    if (streams_.empty() || given_up_ || parts_.clock.now() >= end) break;
    wanted = !(co_await net::is_cancelled());
    if (wanted) co_await over_.async_wait(kAsValue);
  }
  drop_streams(absl::UnavailableError("the tunnel ended before all was read"));
}

void Link::State::give_up(Status why) {
  given_up_ = true;
  over_.cancel();
  close(std::move(why));
}

void Link::State::close(Status why) {
  if (outcome_) return;
  outcome_ = std::move(why);
  over_.cancel();
}

void Link::State::wait_to_read() {
  if (waits_to_read_ || outcome_) return;
  waits_to_read_ = true;
  connection_->socket.async_wait(net::StreamSocket::wait_read, counted([this] {
                                   waits_to_read_ = false;
                                   receive();
                                   work();
                                 }));
}

void Link::State::wait_to_write() {
  if (waits_to_write_ || outcome_) return;
  waits_to_write_ = true;
  connection_->socket.async_wait(net::StreamSocket::wait_write, counted([this] {
                                   waits_to_write_ = false;
                                   on_writable();
                                   work();
                                 }));
}

void Link::State::receive() {
  more_to_read_ = false;
  const std::span<char> in = parts_.buffers.in().first(most_read_);
  const Result<TlsPipe::Got> got = pipe_.read(in);
  if (!got.ok()) return close(got.status());
  const size_t events = got->bytes > 0 ? understand({in.data(), got->bytes}) : 0;
  if (outcome_) return;
  if (events > kManyEvents || got->bytes < kLeastRead) {
    most_read_ = kLeastRead;
  } else if (got->bytes == in.size()) {
    most_read_ = std::min(2 * most_read_, LinkBuffers::kBatchBytes);
  }
  if (got->closed) {
    peer_closed_ = true;
    if (peer_leaves_) return close(absl::OkStatus());
    return close(coded(absl::StatusCode::kUnavailable, "HF2023", "the peer closed the tunnel"));
  }
  if (!got->more) return wait_to_read();
  more_to_read_ = true;  // after others had their turn
  schedule_work();
}

void Link::State::receive_rest() {
  most_read_ = LinkBuffers::kBatchBytes;
  receive();
}

size_t Link::State::understand(std::string_view bytes) {
  std::vector<Event>& events = parts_.buffers.events();
  size_t handlings = 0;
  events.clear();
  now_ = parts_.clock.now();
  Status sense = session_.receive(bytes, now_, events);
  for (std::span<const Event> rest = events; !rest.empty();) {
    const bool is_data = std::holds_alternative<DataCame>(rest.front());
    const size_t handled = is_data ? on_data(rest) : 1;
    if (!is_data) on_event(rest.front());
    handlings += 1;
    if (outcome_) return handlings;
    rest = rest.subspan(handled);
  }
  if (!sense.ok()) close(std::move(sense));
  return handlings;
}

void Link::State::arm_timer() {
  if (outcome_) return;
  Time at = session_.next_deadline();
  if (pipe_.blocked()) at = std::min(at, blocked_since_ + options_.write_timeout);
  if (timer_armed_ && timer_at_ <= at) return;
  timer_at_ = at;
  timer_armed_ = true;
  timer_.expires_after(std::max(at - parts_.clock.now(), Duration(0)));
  timer_.async_wait(counted([this] {
    timer_armed_ = false;
    on_time();
  }));
}

void Link::State::on_time() {
  // If it was this process that did not run, the peer's frames are there by now.
  receive();
  if (outcome_) return;
  const Time now = parts_.clock.now();
  if (now >= session_.next_deadline()) {
    Status alive = session_.on_tick(now);
    if (!alive.ok()) return close(std::move(alive));
    if (streams_.empty() && !pipe_.blocked()) pipe_.rest();
    pipe_.release_kept();  // one stream that idles need not hold what a blocked batch has left
  }
  if (pipe_.blocked() && now - blocked_since_ >= options_.write_timeout) {
    return close(coded(absl::StatusCode::kUnavailable, "HF2024",
                       "the peer has not read from the tunnel for too long"));
  }
  work();
  arm_timer();
}

void Link::State::set_keepalive(Duration interval, uint32_t misses) {
  session_.set_keepalive(interval, misses, parts_.clock.now());
  arm_timer();
}

Link::Link(Parts parts, std::unique_ptr<SecureConnection> connection, LinkOptions options)
    : state_(std::make_unique<State>(*this, parts, std::move(connection), options)) {}
Link::~Link() = default;

asio::awaitable<Status> Link::run() {
  return state_->run();
}
void Link::close(Status why) {
  state_->give_up(std::move(why));
}
asio::awaitable<Status> Link::open(std::string payload, std::unique_ptr<StreamEnd>& end,
                                   Duration timeout) {
  return state_->open(std::move(payload), end, timeout);
}
void Link::accept(StreamId stream, std::unique_ptr<StreamEnd> end) {
  state_->accept(stream, std::move(end));
}
void Link::reset(StreamId stream, ResetCode code, std::string_view why) {
  state_->reset(stream, code, why);
}
Status Link::send(std::string_view message) {
  return state_->send(message);
}
void Link::say_goodbye(std::string_view why) {
  state_->say_goodbye(why);
}
void Link::ready(StreamId stream) {
  state_->ready(stream);
}
void Link::room(StreamId stream) {
  state_->room(stream);
}
void Link::woken(StreamId stream) {
  state_->woken(stream);
}
const Session& Link::session() const {
  return state_->session();
}
void Link::set_keepalive(Duration interval, uint32_t misses) {
  state_->set_keepalive(interval, misses);
}
const SecureConnection& Link::connection() const {
  return state_->connection();
}

}  // namespace holdfast::tunnel

#include "tunnel/tls_end_service.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "net/as_value.h"
#include "net/within.h"

namespace holdfast::tunnel {
namespace {

using net::kAsValue;
constexpr size_t kReadBytes = 16 << 10;
constexpr size_t kMostUnwritten = 64 << 10;

}  // namespace

// Shared by the pump, which reads and writes the connection, and the end, which the link calls.
class StreamPump::State {
 public:
  State(const asio::any_io_executor& loop, std::unique_ptr<net::HttpStream> stream,
        OnEnded on_ended)
      : stream_(std::move(stream)),
        on_ended_(std::move(on_ended)),
        news_(loop),
        taken_(loop),
        last_(loop) {
    news_.expires_at(asio::steady_timer::time_point::max());
    taken_.expires_at(asio::steady_timer::time_point::max());
  }

  asio::awaitable<Status> read();
  asio::awaitable<Status> write();
  void over() {
    over_ = true;
    // What came to its end is still written; all else is cut.
    if (!read_ended_ || !peer_ended_) stream_->close();
    news_.cancel();
    taken_.cancel();
  }
  void tell_link();
  asio::awaitable<Status> wait_for(asio::steady_timer& timer);
  bool is_whole() const { return peer_ended_ && end_taken_; }

  std::unique_ptr<net::HttpStream> stream_;
  OnEnded on_ended_;
  EndReport report_;
  asio::steady_timer news_;   // cancelled when there is something to write, or the end
  asio::steady_timer taken_;  // cancelled when what was read is taken
  asio::steady_timer last_;   // ends the connection after a cancellation
  Duration last_words_{0};
  Link* link_ = nullptr;
  StreamId id_ = 0;
  std::string read_;  // not pulled yet, from read_from_ on
  size_t read_from_ = 0;
  std::string unwritten_;  // pushed and not being written yet
  bool attached_ = false;
  bool read_ended_ = false;
  bool end_taken_ = false;  // by the link, after all that was read
  bool peer_ended_ = false;
  bool wants_room_ = false;
  bool broken_ = false;  // the connection
  bool over_ = false;    // the stream: nobody pulls or pushes any more
};

class StreamPump::End final : public StreamEnd {
 public:
  explicit End(std::shared_ptr<State> state) : state_(std::move(state)) {}  // tidy: shared, above
  ~End() override {
    state_->link_ = nullptr;
    state_->over();
    if (state_->on_ended_) state_->on_ended_(state_->report_);
  }

  void attached(Link& link, StreamId stream) override {
    state_->link_ = &link;
    state_->id_ = stream;
    state_->attached_ = true;
    state_->taken_.cancel();  // reading begins
  }

  Pulled pull(std::span<char> into) override {
    State& state = *state_;
    if (state.broken_) return {.broken = true};
    const size_t bytes = std::min(into.size(), state.read_.size() - state.read_from_);
    std::memcpy(into.data(), state.read_.data() + state.read_from_, bytes);
    state.read_from_ += bytes;
    state.report_.to_peer += bytes;
    const bool all = state.read_from_ == state.read_.size();
    state.end_taken_ = all && state.read_ended_;
    if (all && (bytes > 0 || state.end_taken_)) state.taken_.cancel();
    return {.bytes = bytes, .ended = state.end_taken_};
  }

  ssize_t push(std::string_view bytes) override {
    State& state = *state_;
    if (state.broken_) return -1;
    const size_t taken = std::min(bytes.size(), kMostUnwritten - state.unwritten_.size());
    state.unwritten_.append(bytes.substr(0, taken));
    state.report_.from_peer += taken;
    state.wants_room_ = taken < bytes.size();
    state.news_.cancel();
    return static_cast<ssize_t>(taken);
  }

  void push_end() override {
    state_->peer_ended_ = true;
    state_->news_.cancel();
  }

  void reset(ResetCode code, std::string_view why) override {
    state_->report_.reset = code;
    state_->report_.why = why;
    state_->link_ = nullptr;
    state_->over();
  }

 private:
  std::shared_ptr<State> state_;  // tidy: shared, pump and end may go in either order
};

void StreamPump::State::tell_link() {
  if (link_ == nullptr) return;
  link_->ready(id_);
  if (std::exchange(wants_room_, false)) link_->room(id_);
}

// What is waited for after a cancellation would not know of it.
asio::awaitable<Status> StreamPump::State::wait_for(asio::steady_timer& timer) {
  bool unwanted = co_await net::is_cancelled();
  if (!unwanted) co_await timer.async_wait(kAsValue);
  unwanted = co_await net::is_cancelled();
  if (unwanted) co_return absl::CancelledError("no longer wanted");
  co_return absl::OkStatus();
}

asio::awaitable<Status> StreamPump::State::read() {
  while (!attached_ && !over_) CO_TRY_OK(co_await wait_for(taken_));
  while (!over_ && !read_ended_) {
    read_.resize(kReadBytes);
    read_from_ = kReadBytes;  // nothing to pull meanwhile
    const Result<size_t> count = co_await stream_->read_some(read_);
    read_.resize(count.value_or(0));
    read_from_ = 0;
    if (!count.ok()) co_return count.status();
    read_ended_ = *count == 0;
    if (link_ != nullptr) link_->ready(id_);
    while (!over_ && read_from_ < read_.size()) CO_TRY_OK(co_await wait_for(taken_));
  }
  // A pump that is gone earlier would be a connection that broke.
  while (!over_ && !end_taken_) CO_TRY_OK(co_await wait_for(taken_));
  co_return absl::OkStatus();
}

asio::awaitable<Status> StreamPump::State::write() {
  for (;;) {
    while (!over_ && unwritten_.empty() && !peer_ended_) CO_TRY_OK(co_await wait_for(news_));
    if (report_.reset) co_return absl::OkStatus();
    if (unwritten_.empty()) break;
    const std::string writing = std::exchange(unwritten_, {});
    CO_TRY_OK(co_await stream_->write(writing));
    if (link_ != nullptr && std::exchange(wants_room_, false)) link_->room(id_);
  }
  // Only a stream that came to its end says so: without it the client knows that it was cut.
  if (peer_ended_) co_await stream_->finish();
  co_return absl::OkStatus();
}

StreamPump::StreamPump(const asio::any_io_executor& loop, std::unique_ptr<net::HttpStream> stream,
                       OnEnded on_ended)
    : state_(std::make_shared<State>(loop, std::move(stream), std::move(on_ended))),
      end_(std::make_unique<End>(state_)) {}

StreamPump::~StreamPump() {
  state_->broken_ = true;
  state_->tell_link();
}

std::unique_ptr<StreamEnd> StreamPump::take_end() {
  HF_CHECK(end_ != nullptr, "a pump has one end");
  return std::move(end_);
}

net::HttpStream& StreamPump::stream() {
  return *state_->stream_;
}

asio::awaitable<void> StreamPump::run(Duration last_words) {
  using namespace asio::experimental::awaitable_operators;
  state_->last_words_ = last_words;
  co_await (breaking(state_->read()) && breaking(state_->write()));
  state_->last_.cancel();
  state_->stream_->close();
}

// Whichever fails ends the other.
asio::awaitable<void> StreamPump::breaking(asio::awaitable<Status> half) {
  co_await asio::this_coro::throw_if_cancelled(false);
  // What came to its end is not broken any more; but then its time is limited.
  co_await asio::this_coro::reset_cancellation_state([state = state_](auto asked) {
    if (!state->is_whole()) return asked;
    state->last_.expires_after(state->last_words_);
    state->last_.async_wait([state](const boost::system::error_code& error) {
      if (!error) state->stream_->close();
    });
    return asio::cancellation_type::none;
  });
  const Status status = co_await std::move(half);
  const bool unwanted = co_await net::is_cancelled();
  if (status.ok() && !unwanted) co_return;
  state_->broken_ = true;
  if (!state_->report_.reset) {
    state_->report_.reset = ResetCode::Broken;
    state_->report_.why = std::string(status.message());
  }
  state_->tell_link();
  state_->over();
  state_->stream_->close();
}

}  // namespace holdfast::tunnel

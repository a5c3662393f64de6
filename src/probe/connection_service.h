// One connection of a probe at a time, and its deadline. Closed with a reset, which leaves nothing
// behind in the kernel: what was to be read has been read.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/generic/stream_protocol.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "probe/deadline_service.h"
#include "probe/unverified_tls.h"

namespace holdfast::probe {

// Every failure is kUnavailable, but kDeadlineExceeded if the time is over, kCancelled if the
// awaiting coroutine was cancelled, and as TlsBytes says if the peer does not speak TLS.
class Connection final : public Expiring {
 public:
  using Endpoint = asio::generic::stream_protocol::endpoint;

  Connection(const asio::any_io_executor& loop, Deadlines& deadlines, Duration timeout);
  ~Connection() override;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  struct Way {
    const std::string& host;  // an address, or a name whose addresses are tried in turn
    uint16_t port;
    const std::string& source;  // may be empty
  };
  // Ends the connection there was.
  asio::awaitable<Status> open(const Way& way);
  // The same at once, for who writes first: the connection may be on its way still, and that it
  // failed is then said by what is written. Nothing if the host is a name: that takes a while.
  std::optional<Status> begin(const Way& way);
  asio::awaitable<Status> secure(const UnverifiedTls& tls, const std::string& host, Offer offer);
  // All of it.
  asio::awaitable<Status> write(std::string_view bytes);
  // 0: the peer sends no more.
  asio::awaitable<Result<size_t>> read(std::span<char> into);
  // Waits for some time of what is left; false if the time is over or nobody wants it any more.
  asio::awaitable<bool> pause(Duration duration);
  void close();
  // When the loop has done what it is at.
  void close_soon();

  // What TLS agreed on: "h2", "http/1.1", or nothing.
  std::string_view protocol() const { return tls_ ? tls_->protocol() : std::string_view(); }
  Duration time_left() const;

 private:
  void expire() override;
  Status start(const Endpoint& to, const Way& way);
  asio::awaitable<Status> connect(Endpoint to, Way way);
  asio::awaitable<Status> open_by_name(Way way);
  // Plain functions that are given the state cost less than coroutines that ask for it.
  Status is_over(const asio::cancellation_state& state) const;
  asio::awaitable<Status> wait(asio::socket_base::wait_type direction);
  asio::awaitable<Status> send_all(std::string_view bytes);
  asio::awaitable<Result<size_t>> receive(std::span<char> into);
  asio::awaitable<Status> write_tls(std::string_view bytes);
  asio::awaitable<Result<size_t>> read_tls(std::span<char> into);
  // Sends what TLS has to say, and takes what comes.
  asio::awaitable<Status> turn_tls();

  Deadlines& deadlines_;
  SteadyTime deadline_;
  bool expired_ = false;
  asio::generic::stream_protocol::socket socket_;
  std::optional<TlsBytes> tls_;
};

}  // namespace holdfast::probe

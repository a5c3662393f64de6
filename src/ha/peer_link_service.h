// The way to the other half: follows its beats, and notices how the connection ends. A connection
// that is refused is proof that nobody listens there; a silent one proves nothing.
//
//   probe: plain TCP ──► refused ─► on_end(Refused), again soon
//          │ connects
//          └─► Beats stream ─► on_beat ... ─► ended, or silent for too long ─► probe
#pragma once

#include <grpcpp/channel.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/backoff.h"
#include "base/clock.h"
#include "ha/half.h"
#include "holdfast/v1/pair.grpc.pb.h"
#include "rpc/channel.h"
#include "rpc/server_stream.h"

namespace holdfast::ha {

namespace asio = boost::asio;

struct PeerLinkOptions {
  std::string address{};                                      // HOST:PORT
  Duration probe_timeout = std::chrono::milliseconds(500);    // of a plain connect
  Duration silence = std::chrono::seconds(3);                 // then the stream is opened anew
  Duration doubted_silence = std::chrono::milliseconds(300);  // then, if there is a reason to doubt
  Duration connect_timeout = std::chrono::milliseconds(1000);
  BackoffOptions backoff{.first = std::chrono::milliseconds(10),
                         .cap = std::chrono::milliseconds(200)};
  size_t max_message_bytes = 16 << 20;
};

// Called on the loop; must not wait.
struct PeerLinkHandlers {
  std::function<v1::Beat()> own_beat;  // to introduce ourselves with
  std::function<void(const v1::Beat&)> on_beat;
  // `tried`: when the connection that tells it was begun.
  std::function<void(LinkEnd, Time tried)> on_end;
  std::function<void()> on_up;  // its first beat is here
};

class PeerLinkService {
 public:
  PeerLinkService(const asio::any_io_executor& loop, const Clock& clock, PeerLinkOptions options,
                  PeerLinkHandlers handlers);

  // Nobody is dialled before the first; another one makes the connection anew.
  void set_tls(rpc::TlsOptions tls);
  // Somebody says that the other half did what we have not heard of: a stream that has been silent
  // for some beats is opened anew.
  void doubt();
  // Whether anybody listens at the other half's address. Needs no identity.
  asio::awaitable<bool> answers();
  bool has_identity() const { return tls_.has_value(); }
  // Both until cancelled.
  asio::awaitable<void> run();
  asio::awaitable<void> watch_silence();

  // For calls to the peer; null while there is no connection.
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  bool is_up() const { return channel_ != nullptr; }
  // Why there is no connection; OK if there is.
  const Status& failure() const { return failure_; }

 private:
  enum class Reach { Connects, Refused, Unknown };
  using Stream = rpc::ServerStream<v1::Beat>;

  asio::awaitable<Reach> probe();
  asio::awaitable<bool> follow();
  asio::awaitable<bool> wait_for_identity();

  asio::any_io_executor loop_;
  const Clock& clock_;
  PeerLinkOptions options_;
  PeerLinkHandlers handlers_;
  Backoff backoff_;
  std::optional<rpc::TlsOptions> tls_;
  asio::steady_timer has_tls_;
  std::shared_ptr<grpc::Channel> channel_;  // tidy: shared, gRPC asks for it
  Stream* stream_ = nullptr;                // that runs
  Time heard_{};
  Status failure_;
};

}  // namespace holdfast::ha

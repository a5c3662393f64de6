#include "ha/peer_link_service.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/log.h"
#include "net/as_value.h"
#include "net/look_up.h"
#include "net/task_group.h"
#include "net/within.h"

namespace holdfast::ha {
namespace {

using net::kAsValue;
constexpr Duration kLookForSilence = std::chrono::milliseconds(100);

asio::awaitable<Status> connect(net::StreamEndpoint endpoint) {
  asio::generic::stream_protocol::socket socket(co_await asio::this_coro::executor);
  const auto [error] = co_await socket.async_connect(endpoint, kAsValue);
  if (!error) co_return absl::OkStatus();
  if (error == asio::error::connection_refused) co_return absl::NotFoundError(error.message());
  co_return absl::UnavailableError(error.message());
}

}  // namespace

PeerLinkService::PeerLinkService(const asio::any_io_executor& loop, const Clock& clock,
                                 PeerLinkOptions options, PeerLinkHandlers handlers)
    : loop_(loop),
      clock_(clock),
      options_(std::move(options)),
      handlers_(std::move(handlers)),
      backoff_(options_.backoff, 1),
      has_tls_(loop, asio::steady_timer::time_point::max()) {}

void PeerLinkService::set_tls(rpc::TlsOptions tls) {
  tls_ = std::move(tls);
  has_tls_.cancel();
  if (stream_ != nullptr) stream_->cancel();
}

asio::awaitable<bool> PeerLinkService::wait_for_identity() {
  while (!tls_) {
    const bool cancelled = co_await net::is_cancelled();
    if (cancelled) co_return false;
    co_await has_tls_.async_wait(kAsValue);
  }
  co_return true;
}

// Every address of the peer refuses, or one connects; else nothing is known.
asio::awaitable<PeerLinkService::Reach> PeerLinkService::probe() {
  const auto endpoints = co_await net::look_up(options_.address, options_.probe_timeout);
  failure_ = endpoints.status();
  if (!endpoints.ok() || endpoints->empty()) co_return Reach::Unknown;
  const Duration share = options_.probe_timeout / static_cast<int64_t>(endpoints->size());
  bool refused = true;
  for (const net::StreamEndpoint& endpoint : *endpoints) {
    failure_ = co_await net::within(share, connect(endpoint),
                                    absl::DeadlineExceededError("the other half does not answer"));
    if (failure_.ok()) co_return Reach::Connects;
    refused = refused && absl::IsNotFound(failure_);
  }
  co_return refused ? Reach::Refused : Reach::Unknown;
}

asio::awaitable<bool> PeerLinkService::answers() {
  const Reach reach = co_await probe();
  co_return reach == Reach::Connects;
}

asio::awaitable<void> PeerLinkService::run() {
  bool was_up = false;
  for (;;) {
    const bool ready = co_await wait_for_identity();
    if (!ready) co_return;
    const Time tried = clock_.now();
    const Reach reach = co_await probe();
    const bool cancelled = co_await net::is_cancelled();
    if (cancelled) co_return;
    if (reach == Reach::Refused) handlers_.on_end(LinkEnd::Refused, tried);
    if (reach != Reach::Refused && was_up) handlers_.on_end(LinkEnd::Silent, tried);
    was_up = false;
    if (reach == Reach::Connects) was_up = co_await follow();
    if (was_up) {
      backoff_.reset();
      continue;  // how it ended is found out at once
    }
    const bool slept = co_await net::pause(backoff_.next());
    if (!slept) co_return;
  }
}

// True if it heard anything.
asio::awaitable<bool> PeerLinkService::follow() {
  rpc::ChannelOptions how{.tls = tls_, .connect_timeout = options_.connect_timeout};
  how.max_message_bytes = options_.max_message_bytes;
  const std::shared_ptr<grpc::Channel> channel = rpc::make_channel(options_.address, how);
  const std::unique_ptr<v1::Pair::Stub> stub = v1::Pair::NewStub(channel);
  Stream stream(loop_);
  v1::BeatsRequest request;
  *request.mutable_first() = handlers_.own_beat();
  using Calls = v1::Pair::Stub::async_interface;
  stream.start<Calls, v1::BeatsRequest>(*stub->async(), &Calls::Beats, std::move(request),
                                        {.timeout = Duration::zero()});
  stream_ = &stream;
  heard_ = clock_.now();
  bool heard = false;
  while (std::optional<v1::Beat> beat = co_await stream.read()) {
    heard_ = clock_.now();
    if (!std::exchange(heard, true)) {
      channel_ = channel;
      handlers_.on_up();
    }
    handlers_.on_beat(*beat);
  }
  stream_ = nullptr;
  channel_.reset();
  const Status ended = co_await stream.finish();
  failure_ = ended.ok() ? absl::UnavailableError("the other half ended its beats") : ended;
  if (heard) log::info("the link to the other half ended", {{"why", failure_.ToString()}});
  co_return heard;
}

void PeerLinkService::doubt() {
  if (stream_ != nullptr && clock_.now() - heard_ > options_.doubted_silence) stream_->cancel();
}

asio::awaitable<void> PeerLinkService::watch_silence() {
  for (;;) {
    const bool slept = co_await net::pause(kLookForSilence);
    if (!slept) co_return;
    if (stream_ != nullptr && clock_.now() - heard_ > options_.silence) stream_->cancel();
  }
}

}  // namespace holdfast::ha

#include "node/upstream_service.h"

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/this_coro.hpp>

#include <optional>
#include <utility>
#include <variant>

#include "holdfast/v1/api.grpc.pb.h"
#include "rpc/server_stream.h"

namespace holdfast::node {
namespace {

namespace asio = boost::asio;

using Resources = v1::Resources::StubInterface::async_interface;
using Events = v1::Events::StubInterface::async_interface;

class PinnedStream final : public cache::EventStream {
 public:
  PinnedStream(const asio::any_io_executor& loop, rpc::PickHealthyService& link, rpc::Pinned pinned,
               v1::WatchRequest request)
      : link_(link),
        pinned_(std::move(pinned)),
        stub_(v1::Events::NewStub(pinned_->channel)),
        stream_(loop) {
    stream_.start(*stub_->async(), &Events::Watch, std::move(request),
                  link_.stream_options(pinned_));
  }

  asio::awaitable<Result<v1::WatchResponse>> next() override {
    using namespace asio::experimental::awaitable_operators;
    if (closed_) co_return absl::CancelledError("the stream was closed");
    // A message that is lost when both happen at once comes again: nobody was told of it.
    auto ended = co_await (stream_.read() || link_.left(pinned_->id));
    if (ended.index() == 0) {
      std::optional<v1::WatchResponse>& message = std::get<0>(ended);
      const Status admitted = message ? admit(*message) : absl::OkStatus();
      if (!admitted.ok()) co_return admitted;
      if (message) co_return *std::move(message);
    } else {
      stream_.cancel();
    }
    const Status why = co_await stream_.finish();
    if (closed_) co_return absl::CancelledError("the stream was closed");
    link_.stream_ended(pinned_->id, why);
    if (has_moved()) co_return absl::AbortedError("another controller is picked");
    if (ended.index() == 1) co_return absl::UnavailableError("the controller answers nothing");
    if (why.ok()) co_return absl::UnavailableError("the controller ended the stream");
    co_return why;
  }

  void close() override {
    closed_ = true;
    stream_.cancel();
  }

 private:
  // The stream began under an epoch that was looked at then; a message that names one is newer.
  Status admit(const v1::WatchResponse& message) {
    if (message.epoch() == 0) return absl::OkStatus();
    const Status admitted = link_.admit_epoch(pinned_->id, message.epoch());
    if (!admitted.ok()) stream_.cancel();
    return admitted;
  }

  // Also when the connection broke, and another was there already.
  bool has_moved() const {
    const rpc::Pinned picked = link_.picked();
    return picked && picked->id != pinned_->id;
  }

  rpc::PickHealthyService& link_;
  rpc::Pinned pinned_;
  std::unique_ptr<v1::Events::Stub> stub_;
  rpc::ServerStream<v1::WatchResponse> stream_;
  bool closed_ = false;
};

}  // namespace

asio::awaitable<Result<std::unique_ptr<cache::EventStream>>> UpstreamService::watch(
    v1::WatchRequest request) {
  CO_TRY(rpc::Pinned pinned, co_await link_.wait_picked(options_.watch_patience));
  co_return std::make_unique<PinnedStream>(co_await asio::this_coro::executor, link_,
                                           std::move(pinned), std::move(request));
}

asio::awaitable<Result<v1::ListResponse>> UpstreamService::list(v1::ListRequest request) {
  co_return co_await link_.call<v1::Resources>(
      &Resources::List, std::move(request),
      {.timeout = options_.read_timeout, .repeat = rpc::Repeat::Safe});
}

asio::awaitable<Result<v1::Resource>> UpstreamService::get(v1::GetRequest request) {
  co_return co_await link_.call<v1::Resources>(
      &Resources::Get, std::move(request),
      {.timeout = options_.read_timeout, .repeat = rpc::Repeat::Safe});
}

}  // namespace holdfast::node

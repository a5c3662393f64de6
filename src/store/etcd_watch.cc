#include "store/etcd_watch.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>

#include "base/log.h"
#include "store/etcd_errors.h"

namespace holdfast::store {
namespace {

constexpr BackoffOptions kBetweenStreams{.first = std::chrono::milliseconds(40),
                                         .cap = std::chrono::seconds(2)};

}  // namespace

etcdserverpb::WatchRequest watch_request(const KeyRange& range, Revision after) {
  etcdserverpb::WatchRequest request;
  auto& create = *request.mutable_create_request();
  create.set_key(range.begin);
  create.set_range_end(range.end);
  create.set_start_revision(after + 1);
  create.set_fragment(true);
  create.set_progress_notify(true);
  return request;
}

asio::awaitable<Result<Revision>> check_watchable(EtcdClient& client, const EtcdKeys& keys,
                                                  Revision after) {
  etcdserverpb::RangeRequest request;
  request.set_key(keys.fence(0));
  request.set_count_only(true);
  // Reading at a revision fails exactly when the changes after it cannot be had. An empty etcd is
  // at revision 1, and 0 would mean now.
  request.set_revision(std::max<Revision>(1, after));
  CO_TRY(const auto response, co_await client.ask(&EtcdKv::Range, request, client.deadline()));
  co_return response.header().revision();
}

EtcdWatch::EtcdWatch(const asio::any_io_executor& executor, EtcdClient& client,
                     const EtcdKeys& keys, KeyRange range, Revision after)
    : executor_(executor),
      client_(client),
      keys_(keys),
      range_(std::move(range)),
      changes_(keys, after),
      backoff_(kBetweenStreams, static_cast<uint64_t>(after)),
      pause_(executor) {}

asio::awaitable<Result<std::vector<Change>>> EtcdWatch::next() {
  while (!closed_) {
    auto changes = co_await read_changes();
    const auto state = co_await asio::this_coro::cancellation_state;
    if (closed_ || state.cancelled() != asio::cancellation_type::none) break;
    if (changes.ok()) backoff_.reset();
    if (changes.ok()) co_return changes;
    co_await disconnect();
    if (closed_) break;
    if (!etcd_may_recover(changes.status())) co_return changes.status();
    log::info("etcd watch moves to another member",
              {{"after", changes_.seen()}, {"reason", changes.status().ToString()}});
    client_.leave_member(member_);
    co_await pause();
  }
  co_return absl::CancelledError("the watch was closed");
}

void EtcdWatch::close() {
  closed_ = true;
  if (stream_) stream_->cancel();
  pause_.cancel();
  stop_connecting_.emit(asio::cancellation_type::terminal);
}

asio::awaitable<Result<std::vector<Change>>> EtcdWatch::read_changes() {
  if (!stream_) {
    // Apart, so that close() can end it while it looks for a member that answers.
    const auto [failure, connected] = co_await asio::co_spawn(
        executor_, connect(),
        asio::bind_cancellation_slot(stop_connecting_.slot(), asio::as_tuple(asio::use_awaitable)));
    if (failure) co_return absl::CancelledError("the watch was closed");
    CO_TRY_OK(connected);
  }
  for (;;) {
    const auto response = co_await stream_->read();
    if (!response) {
      stream_->cancel();
      const Status why = co_await stream_->finish();
      co_return why.ok() ? absl::UnavailableError("etcd ended the watch stream") : why;
    }
    CO_TRY(auto changes, changes_.add(*response));
    if (!changes.empty()) co_return changes;
  }
}

asio::awaitable<Status> EtcdWatch::connect() {
  // This finds a member that answers, and compaction, which etcd's watch itself notices one
  // revision too late.
  CO_TRY_OK((co_await check_watchable(client_, keys_, changes_.seen())).status());
  // close() may have come when the answer was already there: then nothing cancels what follows.
  if (closed_) co_return absl::CancelledError("the watch was closed");
  changes_.restart();
  member_ = client_.member_in_use();
  stream_ = std::make_unique<EtcdWatchStream>(executor_);
  client_.open(*stream_, Duration::zero());
  const bool sent = co_await stream_->write(watch_request(range_, changes_.seen()));
  co_return sent ? absl::OkStatus() : absl::UnavailableError("etcd refused the watch stream");
}

asio::awaitable<void> EtcdWatch::disconnect() {
  if (!stream_) co_return;
  stream_->cancel();
  // Why it ended is known or of no interest; gRPC must be done with it before it is destroyed.
  (co_await stream_->finish()).IgnoreError();
  stream_.reset();
}

asio::awaitable<void> EtcdWatch::pause() {
  pause_.expires_after(backoff_.next());
  co_await pause_.async_wait(asio::as_tuple(asio::use_awaitable));
}

}  // namespace holdfast::store

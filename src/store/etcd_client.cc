#include "store/etcd_client.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>

#include "base/bytes.h"
#include "base/check.h"
#include "store/etcd_errors.h"

namespace holdfast::store {
namespace {

// Answers come in pages of a few megabytes, but one page may hold a few values of the largest size.
constexpr size_t kLeastMessageBytes = 64 << 20;
constexpr size_t kLargestValuesPerMessage = 34;
constexpr BackoffOptions kBetweenRounds{.first = std::chrono::milliseconds(40),
                                        .cap = std::chrono::milliseconds(400)};

rpc::ChannelOptions channel_options(const EtcdOptions& options) {
  const size_t largest = options.limits.max_value_bytes + options.limits.max_key_bytes + 1024;
  return {.tls = options.tls,
          .keepalive_interval = options.keepalive_interval,
          .keepalive_timeout = options.keepalive_timeout,
          .max_message_bytes = std::max(kLeastMessageBytes, kLargestValuesPerMessage * largest)};
}

asio::awaitable<bool> cancelled() {
  const auto state = co_await asio::this_coro::cancellation_state;
  co_return state.cancelled() != asio::cancellation_type::none;
}

}  // namespace

EtcdClient::EtcdClient(const asio::any_io_executor& executor, const EtcdOptions& options,
                       const Clock& clock)
    : options_(options),
      clock_(clock),
      executor_(executor),
      seed_(options.seed),
      authenticated_(executor, asio::steady_timer::time_point::max()) {
  HF_CHECK(!options.endpoints.empty(), "an etcd store has at least one endpoint");
  for (const std::string& address : options.endpoints) {
    auto channel = rpc::make_channel(address, channel_options(options));
    members_.push_back({.address = address,
                        .channel = channel,
                        .kv = etcdserverpb::KV::NewStub(channel),
                        .lease = etcdserverpb::Lease::NewStub(channel),
                        .auth = etcdserverpb::Auth::NewStub(channel),
                        .watch = etcdserverpb::Watch::NewStub(channel)});
  }
  current_ = Rng(options.seed).below(members_.size());
}

bool EtcdClient::connected() const {
  return members_[current_].channel->GetState(false) == GRPC_CHANNEL_READY;
}

void EtcdClient::open(EtcdWatchStream& stream, Duration timeout) {
  stream.start(*members_[current_].watch->async(), &EtcdWatchService::Watch, call_options(timeout));
}

void EtcdClient::leave_member(size_t index) {
  if (index == current_) current_ = (current_ + 1) % members_.size();
}

asio::awaitable<Status> EtcdClient::repeat(const Attempt& attempt, Time until) {
  Backoff backoff(kBetweenRounds, seed_++);
  for (size_t tries = 1;; ++tries) {
    const Status status = co_await try_one(attempt, until);
    if (status.ok() || !etcd_may_recover(status) || co_await cancelled()) co_return status;
    const Duration left = until - clock_.now();
    if (left <= Duration::zero()) co_return nobody_answered(status);
    if (tries % members_.size() == 0) co_await pause(std::min(left, backoff.next()));
  }
}

asio::awaitable<Status> EtcdClient::try_one(const Attempt& attempt, Time until) {
  const size_t index = current_;
  Status status = co_await attempt_with_token(members_[index], attempt, until);
  if (etcd_refused_token(status)) {
    token_.clear();
    status = co_await attempt_with_token(members_[index], attempt, until);
  }
  if (etcd_may_recover(status)) leave_member(index);
  co_return status;
}

asio::awaitable<Status> EtcdClient::attempt_with_token(Member& member, const Attempt& attempt,
                                                       Time until) {
  if (!options_.username.empty()) CO_TRY_OK(co_await authenticate(member, until));
  co_return co_await attempt(member, call_options(time_for_a_try(until)));
}

asio::awaitable<Status> EtcdClient::authenticate(Member& member, Time until) {
  while (authenticating_) {
    co_await authenticated_.async_wait(asio::as_tuple(asio::use_awaitable));
    if (co_await cancelled()) co_return absl::CancelledError("waiting for a token");
  }
  if (!token_.empty()) co_return absl::OkStatus();
  authenticating_ = true;
  const Status status = co_await request_token(member, until);
  authenticating_ = false;
  authenticated_.cancel();
  co_return status;
}

asio::awaitable<Status> EtcdClient::request_token(Member& member, Time until) {
  etcdserverpb::AuthenticateRequest request;
  request.set_name(options_.username);
  request.set_password(options_.password);
  const auto response = co_await rpc::call(*member.auth->async(), &EtcdAuth::Authenticate, request,
                                           {.timeout = time_for_a_try(until)});
  if (response.ok()) {
    token_ = response->token();
    co_return absl::OkStatus();
  }
  if (etcd_may_recover(response.status())) co_return response.status();
  co_return absl::UnauthenticatedError(fmt::format("etcd at {} refused user {}: {}", member.address,
                                                   in_quotes(options_.username),
                                                   std::string(response.status().message())));
}

asio::awaitable<void> EtcdClient::pause(Duration duration) {
  asio::steady_timer timer(executor_, duration);
  co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
}

Duration EtcdClient::time_for_a_try(Time until) const {
  constexpr Duration kLeast = std::chrono::milliseconds(1);
  return std::clamp(until - clock_.now(), kLeast, std::max(kLeast, options_.try_timeout));
}

rpc::CallOptions EtcdClient::call_options(Duration timeout) const {
  // A member cut off from the others says so at once instead of keeping us waiting.
  rpc::CallOptions call{.timeout = timeout, .metadata = {{"hasleader", "true"}}};
  if (!token_.empty()) call.metadata.emplace_back("token", token_);
  return call;
}

Status EtcdClient::nobody_answered(const Status& last) const {
  return absl::UnavailableError(
      fmt::format("no etcd member answered within {}, tried {}; the last said: {}",
                  to_short_string(options_.request_timeout), fmt::join(options_.endpoints, ", "),
                  std::string(last.message())));
}

}  // namespace holdfast::store

#include "store/etcd_commit.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/rng.h"
#include "store/etcd_errors.h"
#include "store/etcd_history.h"
#include "store/etcd_watch.h"

namespace holdfast::store {
namespace {

Status outcome_unknown(const Status& why) {
  return absl::UnavailableError(fmt::format("outcome unknown: {}", std::string(why.message())));
}

bool writes_a_value(const EtcdCommit& commit) {
  return std::ranges::any_of(commit.operations, [](const Operation& operation) {
    return operation.type == Operation::Type::Put;
  });
}

bool writes_nothing(const EtcdCommit& commit) {
  return std::ranges::all_of(commit.operations, [](const Operation& operation) {
    return operation.type == Operation::Type::Check;
  });
}

}  // namespace

EtcdCommitter::EtcdCommitter(const asio::any_io_executor& executor, EtcdClient& client,
                             EtcdKeys keys, const EtcdOptions& options)
    : executor_(executor),
      client_(client),
      keys_(std::move(keys)),
      leases_(options.leases),
      fence_{.key = keys_.fence(options.seed)} {
  // Two processes with one seed still differ by the moment they started.
  const auto started = client.clock().wall_now().time_since_epoch().count();
  const auto ticks = client.clock().now().time_since_epoch().count();
  writer_id_ = fmt::format("{:x}-{:x}-{:x}", Rng(options.seed).next(), started, ticks);
}

asio::awaitable<Result<Revision>> EtcdCommitter::commit(std::vector<Operation> operations) {
  Flight flight;
  flight.commit.operations = std::move(operations);
  flight.commit.write_id = next_write_id();
  flight.until = client_.deadline();
  CO_TRY_OK(co_await grant_leases(flight));
  co_return co_await send(std::move(flight));
}

asio::awaitable<Result<Revision>> EtcdCommitter::send(Flight flight) {
  for (;;) {
    // Only a member that answers is sent a write, so that most failures leave no doubt.
    if (!client_.connected()) {
      const Status reached = co_await reach_member(flight.until);
      if (!reached.ok()) co_return flight.in_doubt ? outcome_unknown(reached) : reached;
    }
    if (!flight.in_doubt) flight.floor = seen_;
    if (can_fence(flight.commit.operations)) flight.commit.fence = fence_;
    const auto response =
        co_await client_.once(&EtcdKv::Txn, encode_commit(keys_, flight.commit), flight.until);
    if (auto verdict = co_await judge(flight, response)) co_return *std::move(verdict);
  }
}

asio::awaitable<std::optional<Result<Revision>>> EtcdCommitter::judge(
    Flight& flight, const Result<etcdserverpb::TxnResponse>& response) {
  if (!response.ok()) {
    if (etcd_lost_lease(response.status()) && !std::exchange(flight.lease_lost, true)) {
      for (const int64_t lease : flight.commit.leases) leases_.forget_lease(lease);
      const Status granted = co_await grant_leases(flight);
      if (granted.ok()) co_return std::nullopt;
      co_return granted;
    }
    if (!etcd_may_recover(response.status())) co_return response.status();
    co_return co_await settle(flight, response.status());
  }
  saw(response->header().revision());
  const auto answer = decode_commit(flight.commit, *response);
  if (!answer.ok()) {
    // A delete leaves no mark to find it by: what failed now may be its own earlier success.
    const bool doubtful = flight.in_doubt && !writes_a_value(flight.commit);
    co_return doubtful ? outcome_unknown(answer.status()) : answer.status();
  }
  if (const auto* revision = std::get_if<Revision>(&*answer)) co_return *revision;
  learn_fence(std::get<FenceMoved>(*answer).revision, response->header().revision());
  if (client_.clock().now() < flight.until) co_return std::nullopt;
  const Status late = absl::UnavailableError("etcd's fence kept moving");
  co_return flight.in_doubt ? outcome_unknown(late) : late;
}

asio::awaitable<std::optional<Result<Revision>>> EtcdCommitter::settle(Flight& flight,
                                                                       const Status& why) {
  const bool cancelled =
      (co_await asio::this_coro::cancellation_state).cancelled() != asio::cancellation_type::none;
  if (writes_nothing(flight.commit)) {
    if (cancelled || client_.clock().now() >= flight.until) co_return why;
    co_return std::nullopt;
  }
  if (!flight.commit.fence || cancelled) co_return outcome_unknown(why);
  flight.in_doubt = true;
  // Another commit in the same trouble may have moved it already.
  if (fence_.revision <= flight.commit.fence->revision) {
    const Status moved = co_await move_fence(fence_.revision, flight.until);
    if (!moved.ok()) co_return outcome_unknown(moved);
  }
  if (!writes_a_value(flight.commit)) co_return std::nullopt;
  const auto found = co_await search(flight);
  if (!found.ok()) co_return outcome_unknown(found.status());
  if (*found) co_return **found;
  co_return std::nullopt;
}

asio::awaitable<Status> EtcdCommitter::reach_member(Time until) {
  etcdserverpb::RangeRequest request;
  request.set_key(fence_.key);
  request.set_keys_only(true);
  CO_TRY(const auto response, co_await client_.ask(&EtcdKv::Range, request, until));
  learn_fence(response.kvs_size() == 0 ? 0 : response.kvs(0).mod_revision(),
              response.header().revision());
  co_return absl::OkStatus();
}

void EtcdCommitter::learn_fence(Revision revision, Revision as_of) {
  saw(as_of);
  // Answers of several members may overtake each other.
  if (as_of < fence_as_of_) return;
  fence_as_of_ = as_of;
  fence_.revision = revision;
}

asio::awaitable<Status> EtcdCommitter::move_fence(Revision from, Time until) {
  EtcdCommit move;
  Operation& put = move.operations.emplace_back();
  put.key = *keys_.plain(fence_.key);
  put.precondition = from == 0 ? Precondition::Absent : Precondition::Revision;
  put.revision = from;
  const auto txn = encode_commit(keys_, move);
  // If a lost answer made it move twice, or someone else moved it, it has moved all the same.
  CO_TRY(const auto response, co_await client_.ask(&EtcdKv::Txn, txn, until));
  if (!response.succeeded()) co_return co_await reach_member(until);
  learn_fence(response.header().revision(), response.header().revision());
  co_return absl::OkStatus();
}

asio::awaitable<Result<std::optional<Revision>>> EtcdCommitter::search(const Flight& flight) {
  for (;;) {
    const size_t member = client_.member_in_use();
    const auto found = co_await search_on_member(flight);
    if (found.ok() || !etcd_may_recover(found.status())) co_return found;
    client_.leave_member(member);
    CO_TRY_OK(co_await reach_member(flight.until));
  }
}

asio::awaitable<Result<std::optional<Revision>>> EtcdCommitter::search_on_member(
    const Flight& flight) {
  EtcdHistorySearch history({.write_id = flight.commit.write_id,
                             .fence_key = fence_.key,
                             .fence_revision = fence_.revision});
  EtcdWatchStream stream(executor_);
  client_.open(stream, client_.time_for_a_try(flight.until));
  std::optional<Result<std::optional<Revision>>> result;
  bool more = co_await stream.write(watch_request(keys_.whole(), flight.floor));
  while (more && !result) {
    const auto response = co_await stream.read();
    more = response.has_value();
    if (response) result = history.add(*response);
  }
  stream.cancel();
  const Status why = co_await stream.finish();
  if (result) co_return *result;
  co_return absl::UnavailableError(
      fmt::format("searching etcd's history: {}", std::string(why.message())));
}

asio::awaitable<Status> EtcdCommitter::grant_leases(Flight& flight) {
  flight.commit.leases.assign(flight.commit.operations.size(), 0);
  for (size_t i = 0; i < flight.commit.operations.size(); ++i) {
    const Operation& operation = flight.commit.operations[i];
    if (operation.type != Operation::Type::Put || !operation.expires) continue;
    const auto bucket = leases_.bucket(*operation.expires, client_.clock().wall_now());
    std::optional<int64_t> lease = leases_.find(bucket.index);
    if (!lease) {
      etcdserverpb::LeaseGrantRequest request;
      request.set_ttl(bucket.ttl_seconds);
      CO_TRY(const auto granted,
             co_await client_.ask(&EtcdLease::LeaseGrant, request, flight.until));
      lease = granted.id();
      leases_.remember(bucket.index, *lease, client_.clock().wall_now());
    }
    flight.commit.leases[i] = *lease;
  }
  co_return absl::OkStatus();
}

std::string EtcdCommitter::next_write_id() {
  return fmt::format("{}-{:x}", writer_id_, ++writes_);
}

}  // namespace holdfast::store

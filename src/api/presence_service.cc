#include "api/presence_service.h"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/bytes.h"
#include "base/log.h"
#include "base/reason.h"

namespace holdfast::api {
namespace {

using health::NodeKind;

constexpr NodeKind kNodeKindList[] = {NodeKind::Controller, NodeKind::Proxy, NodeKind::Agent};

// All that a caller can do about it is to try again.
Status not_stored(std::string_view why) {
  return coded(absl::StatusCode::kUnavailable, "HF1101", why);
}

}  // namespace

PresenceService::PresenceService(const asio::any_io_executor& loop, store::Store& store,
                                 const Clock& clock, PresenceOptions options, PresenceHooks hooks)
    : loop_(loop),
      store_(store),
      clock_(clock),
      options_(options),
      hooks_(std::move(hooks)),
      rng_(options.seed),
      table_(options.table),
      batches_(options.batches),
      tasks_(loop) {
  for (const NodeKind kind : kNodeKindList) {
    store::Store& followed = hooks_.followed == nullptr ? store_ : *hooks_.followed;
    follows_.emplace_back(followed, resource::kind_prefix(resource_kind(kind)), follow_kind(kind),
                          options_.follow);
  }
}

FollowHandlers PresenceService::follow_kind(NodeKind kind) {
  FollowHandlers handlers;
  handlers.on_reset = [this, kind](const std::vector<store::Item>& items, store::Revision) {
    std::vector<health::Presence> all;
    for (const store::Item& item : items) {
      if (std::optional<health::Presence> presence = presence_of(item)) {
        all.push_back(*std::move(presence));
      }
    }
    table_.reset(kind, all, clock_.now());
  };
  handlers.on_change = [this, kind](const store::Change& change) {
    const std::optional<resource::StoreKey> key = resource::parse_store_key(change.item.key);
    if (!key) return;
    const bool is_put = change.type == store::Change::Type::Put;
    const std::optional<health::Presence> presence =
        is_put ? presence_of(change.item) : std::nullopt;
    if (presence) table_.observed(*presence, clock_.now());
    if (!presence) table_.observed_gone({kind, key->name});
  };
  handlers.on_lost = [this](const Status&) { cut_off_ = true; };
  return handlers;
}

void PresenceService::start() {
  for (FollowService& follow : follows_) tasks_.spawn(follow.run());
  tasks_.spawn(tick());
}

asio::awaitable<void> PresenceService::stop() {
  stopped_ = true;
  for (FollowService& follow : follows_) follow.stop();
  for (const auto& [ticket, waiter] : waiters_) {
    waiter->result = not_stored("the controller stops");
    waiter->timer.cancel();
  }
  co_await tasks_.join();
}

Duration PresenceService::ttl_for(NodeKind kind) const {
  const size_t count = table_.counts(kind).online;
  switch (kind) {
    case NodeKind::Controller:
      return health::ttl_for(options_.controller_ttl, count);
    case NodeKind::Proxy:
      return health::ttl_for(options_.proxy_ttl, count);
    case NodeKind::Agent:
      break;
  }
  return health::ttl_for(options_.agent_ttl, count);
}

bool PresenceService::in_step() const {
  return std::ranges::all_of(follows_, [](const FollowService& one) { return one.in_step(); });
}

asio::awaitable<Result<v1::AnnounceResponse>> PresenceService::announce(
    v1::AnnounceRequest request, WallTime certificate_expires) {
  const std::optional<resource::Kind> kind = resource::kind_of(request.resource());
  const std::optional<NodeKind> node = kind ? node_kind(*kind) : std::nullopt;
  const Taken taken{.at = clock_.wall_now(),
                    .ttl = ttl_for(node.value_or(NodeKind::Agent)),
                    .keep_offline = options_.keep_offline,
                    .certificate_expires = certificate_expires};
  CO_TRY(v1::Resource entry, stored_entry(request, taken));
  const health::NodeId id{*node, entry.metadata().name()};
  const Time heard_at = clock_.now();
  look_for_other(id, entry, heard_at);

  store::Operation operation;
  operation.key = node_key(id);
  operation.value = entry.SerializeAsString();
  operation.expires =
      taken.at + std::chrono::duration_cast<WallTime::duration>(taken.ttl + options_.keep_offline);
  const health::Sighting sighting{.instance = instance_of(entry), .heartbeat = taken.at};
  const auto on_accepted = [&] { table_.heard(id, sighting, taken.ttl, heard_at); };
  CO_TRY(const store::Revision revision, co_await write(std::move(operation), on_accepted));

  stats_.announced += 1;
  v1::AnnounceResponse response;
  *response.mutable_ttl() = to_proto_duration(taken.ttl);
  *response.mutable_next_in() = to_proto_duration(health::announce_period(taken.ttl, rng_));
  response.set_revision(revision);
  if (hooks_.fill_response) hooks_.fill_response(request, response);
  co_return response;
}

// One identity on two machines: told in the entry, and once in the log.
void PresenceService::look_for_other(const health::NodeId& id, v1::Resource& entry, Time now) {
  const health::InstanceId other = table_.other_instance(id, instance_of(entry), now);
  if (other == 0) return;
  stats_.doubled += 1;
  say_doubled(entry, other);
  if (table_.are_two(id, now)) return;
  log::warn("two processes announce themselves by one name",
            {{"node", node_key(id)}, {"code", "HF1108"}});
}

asio::awaitable<Result<v1::GoodbyeResponse>> PresenceService::goodbye(v1::GoodbyeRequest request,
                                                                      Duration within) {
  const std::optional<resource::Kind> kind = resource::kind_named(request.kind());
  store::Operation operation;
  operation.type = store::Operation::Type::Delete;
  if (kind && node_kind(*kind)) operation.key = resource::store_key(*kind, request.name());
  if (!resource::parse_store_key(operation.key)) {
    co_return absl::InvalidArgumentError(
        fmt::format("{} {} is no node; controllers, proxies and agents say goodbye, by their names",
                    in_quotes(request.kind()), in_quotes(request.name())));
  }
  const health::NodeId id{*node_kind(*kind), request.name()};
  const bool is_gone = table_.leave(id, instance_of(request.started()), clock_.now());
  if (is_gone) {
    CO_TRY_OK((co_await write(std::move(operation), [] {}, within)).status());
  }
  stats_.goodbyes += 1;
  stats_.kept_goodbyes += is_gone ? 0 : 1;
  co_return v1::GoodbyeResponse();
}

asio::awaitable<Result<store::Revision>> PresenceService::write(store::Operation operation,
                                                                std::function<void()> on_accepted,
                                                                Duration within) {
  if (stopped_) co_return not_stored("the controller stops");
  const std::optional<WriteBatches::Ticket> ticket =
      batches_.add(std::move(operation), clock_.now());
  if (!ticket) {
    stats_.refused_full += 1;
    cut_off_ = true;  // whoever is refused is alive
    co_return coded(absl::StatusCode::kResourceExhausted, "HF1102",
                    "too many announcements wait for the store; try again later");
  }
  on_accepted();
  const Duration patience = std::min(within, options_.heartbeat_write_timeout);
  Waiter waiter{.timer = asio::steady_timer(loop_, patience)};
  waiters_.emplace(*ticket, &waiter);
  pump(clock_.now());
  while (!waiter.result) {
    const auto [error] = co_await waiter.timer.async_wait(asio::as_tuple(asio::use_awaitable));
    if (waiter.result) break;
    // Time is up, or the caller no longer wants it.
    batches_.drop(*ticket);
    waiter.result =
        not_stored(fmt::format("the store did not take it within {}", to_short_string(patience)));
    if (error) continue;
    stats_.timed_out += 1;
    report_write(waiter.result->status());
  }
  waiters_.erase(*ticket);
  co_return *std::move(waiter.result);
}

void PresenceService::pump(Time now) {
  if (stopped_) return;
  while (std::optional<WriteBatches::Batch> batch = batches_.take(now)) {
    tasks_.spawn(commit(*std::move(batch)));
  }
  const std::optional<Time> next = batches_.next_deadline();
  if (!next || pump_at_) return;
  pump_at_ = next;
  tasks_.spawn(pump_at(*next));
}

asio::awaitable<void> PresenceService::pump_at(Time when) {
  co_await net::pause(when - clock_.now());
  pump_at_.reset();
  pump(std::max(when, clock_.now()));
}

asio::awaitable<void> PresenceService::commit(WriteBatches::Batch batch) {
  const Time began = clock_.now();
  const size_t count = batch.operations.size();
  const Result<store::Revision> result = co_await store_.commit(std::move(batch.operations));
  const bool in_time = clock_.now() - began <= options_.heartbeat_write_timeout;
  if (!result.ok()) {
    stats_.failed_commits += 1;
    report_write(not_stored(fmt::format("the store failed: {}", result.status().ToString())));
  } else {
    stats_.commits += 1;
    stats_.written += count;
    stats_.late_commits += in_time ? 0 : 1;
    if (in_time) report_write(absl::OkStatus());
  }
  answer(batch, result);
}

void PresenceService::answer(const WriteBatches::Batch& batch,
                             const Result<store::Revision>& result) {
  batches_.done(batch);
  for (const WriteBatches::Ticket ticket : batch.tickets) {
    const auto waiting = waiters_.find(ticket);
    if (waiting == waiters_.end() || waiting->second->result) continue;
    Waiter& waiter = *waiting->second;
    waiter.result =
        result.ok() ? result
                    : not_stored(fmt::format("the store failed: {}", result.status().ToString()));
    waiter.timer.cancel();
  }
  pump(clock_.now());
}

void PresenceService::report_write(const Status& status) {
  if (!status.ok()) cut_off_ = true;
  if (hooks_.on_write) hooks_.on_write(status);
}

}  // namespace holdfast::api

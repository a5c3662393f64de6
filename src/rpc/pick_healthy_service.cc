#include "rpc/pick_healthy_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "holdfast/v1/node.grpc.pb.h"
#include "rpc/connectivity.h"
#include "rpc/server_stream.h"

namespace holdfast::rpc {
namespace {

using grpc::health::v1::Health;
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using HealthMethods = Health::StubInterface::async_interface;
using DiscoveryMethods = v1::ServiceConfigDiscovery::StubInterface::async_interface;
using pick::Discovery;

// How often a channel that dials is asked how far it is.
constexpr Duration kFirstDialPoll = std::chrono::milliseconds(1);
constexpr Duration kDialPoll = std::chrono::milliseconds(10);
// By then a channel that was told to dial is no longer idle, unless it was connected in between.
constexpr Duration kIdleIsOver = std::chrono::milliseconds(200);
constexpr Duration kWhyTimeout = std::chrono::milliseconds(250);
constexpr size_t kMaxReasonBytes = 256;
constexpr Duration kLongWait = std::chrono::hours(1);

asio::awaitable<bool> is_cancelled() {
  const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
  co_return state.cancelled() != asio::cancellation_type::none;
}

bool is_lost(const Connection& connection) {
  return connection.channel->GetState(false) != GRPC_CHANNEL_READY;
}

asio::awaitable<Result<v1::GetServiceConfigResponse>> ask_for_config(const Connection& connection,
                                                                     CallOptions options) {
  const auto stub = v1::ServiceConfigDiscovery::NewStub(connection.channel);
  co_return co_await call(static_cast<DiscoveryMethods&>(*stub->async()),
                          &DiscoveryMethods::GetServiceConfig, {}, std::move(options));
}

// What a server said is cut, and safe to print.
std::string failure(const Connection& connection, const Status& why) {
  const absl::string_view message = why.message();
  return fmt::format("{}: {}", connection.address,
                     in_quotes({message.data(), message.size()}, kMaxReasonBytes));
}

// The first policy we know counts; a mode we do not know is not "reconnect".
pick::Mode read_mode(const v1::ServiceConfig& config) {
  pick::Mode mode;
  for (const v1::LoadBalancingConfig& policy : config.load_balancing_config()) {
    if (!policy.has_pick_healthy()) continue;
    mode.reconnect = policy.pick_healthy().mode() == "reconnect";
    break;
  }
  if (config.health_check_config().has_service_name()) {
    mode.health_service = config.health_check_config().service_name();
  }
  return mode;
}

Discovery read_discovery(const Result<v1::GetServiceConfigResponse>& answer) {
  if (answer.ok()) return {.mode = read_mode(answer->config())};
  if (answer.status().code() == absl::StatusCode::kUnimplemented) {
    return {.outcome = Discovery::Outcome::Unimplemented};
  }
  if (is_not_active(answer.status())) return {.outcome = Discovery::Outcome::NotActive};
  return {.outcome = Discovery::Outcome::Failed};
}

// Its own coroutine, because a task that drops its connection is among those waited for.
//
// gRPC 1.51 leaks a socket if its channel is destroyed after the client's preface and before the
// server's SETTINGS. So the channel is kept until its dial has ended, which takes the channel's
// connect timeout at most.
asio::awaitable<void> let_go(Pinned connection, std::unique_ptr<net::TaskGroup> tasks) {
  co_await tasks->join();
  while (connection->channel->GetState(false) == GRPC_CHANNEL_CONNECTING) {
    if (!co_await net::pause(kDialPoll)) co_return;
  }
}

}  // namespace

PickHealthyService::PickHealthyService(const asio::any_io_executor& loop, const Clock& clock,
                                       std::vector<std::string> addresses, ChannelOptions channel,
                                       PickHealthyServiceOptions options)
    : loop_(loop),
      clock_(clock),
      options_(options),
      core_(options.core, std::move(addresses), options.seed),
      timer_(loop),
      tasks_(loop) {
  channel_options_.emplace(0, std::move(channel));
  stats_.reconnect_interval = options.core.reconnect_interval;
}

PickHealthyService::~PickHealthyService() = default;

void PickHealthyService::start() {
  tasks_.spawn(run_timer());
  carry_out(core_.start(clock_.now()));
}

asio::awaitable<void> PickHealthyService::stop() {
  stopped_ = true;
  core_.close();
  picked_ = nullptr;
  while (!held_.empty()) release(held_.begin()->first);
  co_await tasks_.join();
  while (!waiters_->empty()) {
    for (asio::steady_timer* waiter : *waiters_) waiter->cancel();
    co_await asio::post(loop_, asio::as_tuple(asio::use_awaitable));
  }
}

Status PickHealthyService::use_channel_options(ChannelOptions channel) {
  channel_options_.emplace(++credentials_, std::move(channel));
  return change_settings(core_.use_credentials(clock_.now()));
}

Status PickHealthyService::replace_channel_options(ChannelOptions channel) {
  channel_options_.emplace(++credentials_, std::move(channel));
  return change_settings(core_.replace_credentials(clock_.now()));
}

void PickHealthyService::pause(std::string why) {
  last_failure_ = std::move(why);
  carry_out(core_.pause(clock_.now()));
}

void PickHealthyService::stream_ended(uint64_t connection_id, const Status& why) {
  const bool refused = why.code() == absl::StatusCode::kUnauthenticated;
  if (refused && options_.leave_who_refuses) {
    carry_out(core_.on_refused(connection_id, clock_.now()));
  }
}

Status PickHealthyService::set_addresses(std::vector<std::string> addresses) {
  return change_settings(core_.set_addresses(std::move(addresses), clock_.now()));
}

void PickHealthyService::set_reconnect_interval(Duration interval) {
  if (interval == stats_.reconnect_interval) return;
  stats_.reconnect_interval = interval;
  carry_out(core_.set_reconnect_interval(interval, clock_.now()));
}

Status PickHealthyService::change_settings(Result<pick::Actions> actions) {
  TRY(const pick::Actions todo, std::move(actions));
  carry_out(todo);
  return absl::OkStatus();
}

// A task begins where it is spawned, and may end there too, with actions of its own: their turn
// comes after what was decided before them.
void PickHealthyService::carry_out(const pick::Actions& actions) {
  todo_.insert(todo_.end(), actions.begin(), actions.end());
  if (carrying_out_) return;
  carrying_out_ = true;
  while (!todo_.empty()) {
    const pick::Action action = std::move(todo_.front());
    todo_.pop_front();
    std::visit([this](const auto& one) { carry_out(one); }, action);
  }
  carrying_out_ = false;
  const bool silent = picked_ && core_.is_silent(picked_->id);
  if (silent && !pick_is_silent_) wake_waiters();
  pick_is_silent_ = silent;
  static_cast<pick::Counts&>(stats_) = core_.counts();
  channel_options_.erase(channel_options_.begin(),
                         channel_options_.lower_bound(core_.oldest_credentials()));
  timer_.cancel();
}

void PickHealthyService::carry_out(const pick::Dial& dial) {
  const ChannelOptions& options = channel_options_.at(dial.credentials);
  auto connection = std::make_shared<const Connection>(
      Connection{.id = dial.connection,
                 .address = dial.address,
                 .credentials = dial.credentials,
                 .channel = make_channel(dial.address, options)});
  Held& held = held_[dial.connection];
  held = {.connection = connection, .tasks = std::make_unique<net::TaskGroup>(loop_)};
  held.tasks->spawn(follow(std::move(connection), options.connect_timeout));
}

void PickHealthyService::carry_out(const pick::Discover& discover_it) {
  Held& held = held_.at(discover_it.connection);
  held.tasks->spawn(discover(held.connection));
}

void PickHealthyService::carry_out(const pick::WatchHealth& watch) {
  Held& held = held_.at(watch.connection);
  held.tasks->spawn(watch_health(held.connection, watch.service));
}

void PickHealthyService::carry_out(const pick::Probe& probe_it) {
  Held& held = held_.at(probe_it.connection);
  held.tasks->spawn(probe(held.connection, probe_it.service));
}

void PickHealthyService::carry_out(const pick::Drop& drop) {
  release(drop.connection);
}

void PickHealthyService::carry_out(const pick::Pick& pick) {
  picked_ = pick.connection == 0 ? nullptr : held_.at(pick.connection).connection;
  wake_waiters();
}

void PickHealthyService::wake_waiters() {
  for (asio::steady_timer* waiter : *waiters_) waiter->cancel();
}

void PickHealthyService::release(uint64_t connection) {
  auto held = held_.extract(connection);
  paired_.erase(connection);
  tasks_.spawn(let_go(std::move(held.mapped().connection), std::move(held.mapped().tasks)));
}

asio::awaitable<void> PickHealthyService::run_timer() {
  while (!stopped_) {
    const auto deadline = core_.next_deadline();
    const Duration wait = deadline ? *deadline - clock_.now() : kLongWait;
    timer_.expires_after(std::chrono::duration_cast<asio::steady_timer::duration>(wait));
    co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
    if (co_await is_cancelled()) co_return;
    const Time now = clock_.now();
    if (core_.next_deadline().value_or(Time::max()) <= now) carry_out(core_.on_tick(now));
  }
}

asio::awaitable<void> PickHealthyService::follow(Pinned connection, Duration timeout) {
  const bool connected = co_await connect(*connection, timeout);
  if (co_await is_cancelled()) co_return;
  if (!connected) {
    carry_out(core_.on_closed(connection->id, clock_.now()));
    co_return;
  }
  carry_out(core_.on_connected(connection->id, clock_.now()));
  if (co_await until_lost(connection->channel)) {
    carry_out(core_.on_closed(connection->id, clock_.now()));
  }
}

asio::awaitable<bool> PickHealthyService::connect(const Connection& connection, Duration timeout) {
  const Time started = clock_.now();
  const Time deadline = started + timeout;
  // Asked once: a channel that was ready and is idle again would otherwise dial by itself.
  connection.channel->GetState(true);
  for (Duration poll = kFirstDialPoll; clock_.now() < deadline;
       poll = std::min(poll * 2, kDialPoll)) {
    const grpc_connectivity_state state = connection.channel->GetState(false);
    if (state == GRPC_CHANNEL_READY) co_return true;
    if (state == GRPC_CHANNEL_IDLE && clock_.now() - started >= kIdleIsOver) {
      last_failure_ = fmt::format("{}: it took the connection back at once", connection.address);
      co_return false;
    }
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE || state == GRPC_CHANNEL_SHUTDOWN) {
      // Only a call is told why; it fails at once.
      const auto why = co_await ask_for_config(connection, {.timeout = kWhyTimeout});
      last_failure_ = failure(connection, why.status());
      co_return false;
    }
    if (!co_await net::pause(poll)) co_return false;
  }
  last_failure_ =
      fmt::format("{}: no answer within {}", connection.address, to_short_string(timeout));
  co_return false;
}

asio::awaitable<void> PickHealthyService::discover(Pinned connection) {
  const auto answer =
      co_await ask_for_config(*connection, own_options(*connection, Duration::zero()));
  if (co_await is_cancelled()) co_return;
  const Time now = clock_.now();
  if (!answer.ok()) {
    last_failure_ = failure(*connection, answer.status());
  }
  if (!answer.ok() && is_lost(*connection)) {
    carry_out(core_.on_closed(connection->id, now));
  } else {
    carry_out(core_.on_discovered(connection->id, read_discovery(answer), now));
  }
}

asio::awaitable<void> PickHealthyService::watch_health(Pinned connection, std::string service) {
  const auto stub = Health::NewStub(connection->channel);
  HealthCheckRequest request;
  request.set_service(std::move(service));
  ServerStream<HealthCheckResponse> stream(loop_);
  CallOptions options = own_options(*connection, Duration::zero());
  const auto beat = std::chrono::duration_cast<std::chrono::milliseconds>(options_.beat).count();
  if (beat > 0) options.metadata.emplace_back(kBeatKey, std::to_string(beat));
  stream.start(static_cast<HealthMethods&>(*stub->async()), &HealthMethods::Watch, request,
               options);
  for (bool first = true; const auto message = co_await stream.read(); first = false) {
    if (first) expect_beats(*connection, stream.initial_metadata());
    const bool serving = message->status() == HealthCheckResponse::SERVING;
    carry_out(core_.on_health(connection->id, serving, clock_.now()));
  }
  if (co_await is_cancelled()) co_return;
  const Status why = co_await stream.finish();
  if (co_await is_cancelled()) co_return;
  const Time now = clock_.now();
  if (is_lost(*connection)) {
    carry_out(core_.on_closed(connection->id, now));
    co_return;
  }
  const bool unimplemented = why.code() == absl::StatusCode::kUnimplemented;
  carry_out(core_.on_watch_ended(
      connection->id, unimplemented ? pick::WatchEnd::Unimplemented : pick::WatchEnd::Other, now));
}

asio::awaitable<void> PickHealthyService::probe(Pinned connection, std::string service) {
  const auto stub = Health::NewStub(connection->channel);
  HealthCheckRequest request;
  request.set_service(std::move(service));
  const auto answer =
      co_await rpc::call(static_cast<HealthMethods&>(*stub->async()), &HealthMethods::Check,
                         request, own_options(*connection, Duration::zero()));
  if (co_await is_cancelled()) co_return;
  const absl::StatusCode code = answer.status().code();
  const bool answered =
      code != absl::StatusCode::kUnavailable && code != absl::StatusCode::kCancelled;
  carry_out(core_.on_probe_ended(connection->id, answered, clock_.now()));
}

}  // namespace holdfast::rpc

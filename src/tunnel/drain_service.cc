#include "tunnel/drain_service.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <utility>
#include <variant>

#include "base/log.h"
#include "base/reason.h"
#include "net/as_value.h"
#include "net/within.h"

namespace holdfast::tunnel {
namespace {

using net::kAsValue;
constexpr Duration kLongestDrainTurn = std::chrono::milliseconds(100);
// For the goodbyes to be said and heard; then connections are closed.
constexpr Duration kGoodbye = std::chrono::seconds(1);
constexpr std::string_view kCode = "HF2110";
constexpr std::string_view kReason = "the proxy is draining";

Status nobody_knows() {
  return coded(absl::StatusCode::kUnavailable, "HF2117", "no controller knows of the drain");
}

asio::awaitable<Status> answered(asio::awaitable<bool> announcing) {
  const bool taken = co_await std::move(announcing);
  co_return taken ? absl::OkStatus() : nobody_knows();
}

}  // namespace

DrainService::DrainService(Parts parts, Asks asks)
    : parts_(parts),
      asks_(std::move(asks)),
      turn_(parts.shared.parts.loop),
      end_(parts.shared.parts.loop, asio::steady_timer::time_point::max()),
      tasks_(parts.shared.parts.loop) {}

asio::awaitable<void> DrainService::drain(std::optional<Duration> deadline) {
  begin(deadline);
  while (!over_ && !stopping_) co_await end_.async_wait(kAsValue);
}

void DrainService::shorten(Duration deadline) {
  if (begun_) begin(deadline);
}

void DrainService::hurry() {
  begin({});
  parts_.shared.drain.hurry(parts_.shared.parts.clock.now());
  wake();
}

void DrainService::begin(std::optional<Duration> deadline) {
  if (stopping_) return;
  ProxyShared& shared = parts_.shared;
  if (std::exchange(begun_, true)) {
    shared.drain.begin({}, shared.parts.clock.now(), deadline);
    wake();
    return;
  }
  since_ = shared.parts.clock.wall_now();
  shared.counts.drains += 1;
  shared.drain.begin(shared.table.tunnels(), shared.parts.clock.now(), deadline);
  log::info("draining", {{"tunnels", shared.table.tunnel_count()}, {"streams", shared.streams}});
  tasks_.spawn(run());
}

asio::awaitable<void> DrainService::stop() {
  stopping_ = true;
  wake();
  co_await tasks_.join();
  end_.cancel();
}

DrainLoad DrainService::load() const {
  const ProxyShared& shared = parts_.shared;
  return {.streams = shared.streams + shared.dialing + (closing_ingress_ ? 1 : 0),
          .tunnels = shared.table.tunnel_count(),
          .alone = shared.is_alone()};
}

asio::awaitable<void> DrainService::run() {
  ProxyShared& shared = parts_.shared;
  while (!over_ && !stopping_) {
    std::vector<DrainStep> steps = shared.drain.on_tick(load(), shared.parts.clock.now());
    for (DrainStep& step : steps) {
      over_ = co_await carry_out(step);
    }
    if (over_) break;
    shared.refuse_relays = ingress_closed_ && shared.drain.move_is_over();
    const Time now = shared.parts.clock.now();
    const std::optional<Time> due = shared.drain.next_deadline();
    const Duration wait = due ? std::max(*due - now, Duration(std::chrono::milliseconds(1)))
                              : Duration(kLongestDrainTurn);
    turn_.expires_after(std::min(wait, kLongestDrainTurn));
    co_await turn_.async_wait(kAsValue);
  }
  end_.cancel();
}

asio::awaitable<bool> DrainService::carry_out(DrainStep step) {
  if (std::holds_alternative<Deregister>(step)) tasks_.spawn(announce());
  if (std::holds_alternative<TellOthers>(step)) tell_others();
  if (std::holds_alternative<StopListening>(step)) {
    closing_ingress_ = true;
    tasks_.spawn(close_ingress());
  }
  if (const auto* advise = std::get_if<AdviseTunnel>(&step)) {
    HeldTunnel* tunnel = parts_.tunnels.find(advise->tunnel);
    if (tunnel != nullptr) tunnel->advise(kCode, kReason, advise->closes_in);
  }
  const auto* close = std::get_if<CloseAll>(&step);
  if (close == nullptr) co_return false;
  co_await close_all(close->in_time);
  co_return true;
}

// Never holds the rest up: the plan goes on by itself when it takes too long.
asio::awaitable<void> DrainService::announce() {
  if (asks_.announce) {
    const Status announced = co_await net::within(parts_.shared.options.drain.deregister_within,
                                                  answered(asks_.announce()), nobody_knows());
    if (!announced.ok()) {
      parts_.shared.counts.drains_unannounced += 1;
      log::warn("draining without the controllers' knowing", {{"code", "HF2117"}});
    }
  }
  parts_.shared.drain.deregistered();
  wake();
}

void DrainService::tell_others() {
  ProxyShared& shared = parts_.shared;
  shared.refuse_tunnels = true;
  shared.tell_self();
  parts_.tunnels.send_discovery(shared.parts.clock.now());
  const std::optional<Time> deadline = shared.drain.deadline();
  parts_.peers.advise(deadline ? *deadline - shared.parts.clock.now() : Duration::zero());
}

asio::awaitable<void> DrainService::close_ingress() {
  if (asks_.close_ingress) co_await asks_.close_ingress();
  closing_ingress_ = false;
  ingress_closed_ = true;
  wake();
}

asio::awaitable<void> DrainService::close_all(bool in_time) {
  ProxyShared& shared = parts_.shared;
  shared.refuse_relays = true;
  cut_ = shared.streams;
  shared.counts.cut_streams += cut_;
  const Status why = coded(absl::StatusCode::kUnavailable, "HF2112", "the proxy has drained");
  parts_.tunnels.for_each([](HeldTunnel& tunnel) { tunnel.say_goodbye("the proxy leaves"); });
  parts_.peers.say_goodbye();
  const Time end = shared.parts.clock.now() + (in_time ? kGoodbye : Duration::zero());
  while (!stopping_ && shared.parts.clock.now() < end &&
         parts_.tunnels.size() + parts_.peers.link_count() > 0) {
    const bool waited = co_await net::pause(std::chrono::milliseconds(5));
    if (!waited) break;
  }
  parts_.tunnels.for_each([&why](HeldTunnel& tunnel) { tunnel.close(why); });
  parts_.peers.close(why);
  ended_ = shared.parts.clock.wall_now();
  log::info("drained", {{"cut", cut_}});
}

DrainProgress DrainService::progress() const {
  const ProxyShared& shared = parts_.shared;
  DrainProgress progress{.phase = shared.drain.phase(),
                         .since = since_,
                         .ended = ended_,
                         .tunnels = shared.table.tunnel_count(),
                         .advised = shared.drain.advised(),
                         .streams = shared.streams,
                         .cut = cut_};
  if (const std::optional<Time> deadline = shared.drain.deadline()) {
    const Duration left = *deadline - shared.parts.clock.now();
    progress.deadline =
        shared.parts.clock.wall_now() + std::chrono::duration_cast<WallTime::duration>(left);
  }
  return progress;
}

}  // namespace holdfast::tunnel

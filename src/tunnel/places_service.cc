#include "tunnel/places_service.h"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <utility>

#include "base/reason.h"
#include "net/as_value.h"
#include "net/within.h"

namespace holdfast::tunnel {
namespace {

using net::kAsValue;

Status full(std::string_view code, std::string message) {
  return coded(absl::StatusCode::kResourceExhausted, code, std::move(message));
}

}  // namespace

HeldPlace& HeldPlace::operator=(HeldPlace&& other) noexcept {
  HeldPlace old;
  old.swap(*this);
  swap(other);
  return *this;
}

void HeldPlace::swap(HeldPlace& other) noexcept {
  std::swap(owner_, other.owner_);
  std::swap(row_, other.row_);
  std::swap(service_, other.service_);
  std::swap(zone_, other.zone_);
  std::swap(in_places_, other.in_places_);
  std::swap(was_opened_, other.was_opened_);
}

void HeldPlace::opened() {
  if (std::exchange(was_opened_, true)) return;
  if (row_ != nullptr) row_->opened += 1;
  if (in_places_) owner_->places_.opened(service_, zone_);
}

void HeldPlace::give_back(route::Ended how) {
  if (owner_ != nullptr) std::exchange(owner_, nullptr)->give_back(*this, how);
}

// One who waits: in line from join() until it is destroyed; then the next may try.
class PlacesService::InLine {
 public:
  explicit InLine(PlacesService& service) : service_(service), timer_(service.loop_) {}
  InLine(const InLine&) = delete;
  InLine& operator=(const InLine&) = delete;
  ~InLine() {
    if (!ticket_) return;
    service_.waiters_.erase(*ticket_);
    service_.line_.leave(*ticket_);
    service_.tell_waiting(name_);
    if (const auto next = service_.line_.first(name_)) service_.wake(*next);
  }

  bool is_in() const { return ticket_.has_value(); }
  // Whether nobody goes before it.
  bool may_try(std::string_view name) const {
    return ticket_ ? service_.line_.is_first(*ticket_) : service_.line_.is_empty(name);
  }
  bool join(std::string_view name) {
    name_ = name;
    ticket_ = service_.line_.join(name);
    if (ticket_) service_.waiters_[*ticket_] = &timer_;
    service_.tell_waiting(name_);
    return ticket_.has_value();
  }
  asio::awaitable<void> wait(Duration longest) {
    timer_.expires_after(std::max(longest, Duration::zero()));
    co_await timer_.async_wait(kAsValue);
  }

 private:
  PlacesService& service_;
  asio::steady_timer timer_;
  std::string name_{};
  std::optional<PlaceLine::Ticket> ticket_{};
};

PlacesService::PlacesService(asio::any_io_executor loop, const Clock& clock,
                             PlacesServiceOptions options)
    : loop_(std::move(loop)),
      clock_(clock),
      options_(std::move(options)),
      places_(options_.places),
      line_(options_.line),
      connections_(options_.max_rows) {}

void PlacesService::set_load(const ProxyLoad& load) {
  listed_ = load.zones;
  places_.set_services(load.services, load.holders);
  if (load.has_all) {
    connections_.forget_unless(
        [&](const std::string& service) { return load.services.contains(service); });
  }
  wake_firsts();
}

HeldPlace PlacesService::hold(const AskedFor& asked, const std::string& zone, bool in_places) {
  HeldPlace place;
  place.owner_ = this;
  place.row_ = connections_.hold(asked, zone);
  place.service_ = asked.service;
  place.zone_ = zone;
  place.in_places_ = in_places;
  return place;
}

// A service that has just lost its limits may still have them in route::Places; it is let through.
HeldPlace PlacesService::take_in(const AskedFor& asked, const std::string& zone) {
  one_[0].assign(zone);
  const route::Taken taken = places_.take(asked.service, one_, clock_.now());
  note_due();
  const bool has_place =
      taken.kind == route::Taken::Kind::Within || taken.kind == route::Taken::Kind::Beyond;
  return hold(asked, zone, has_place);
}

std::optional<Result<HeldPlace>> PlacesService::try_take(const AskedFor& asked, const Zones& zones,
                                                         route::IfTaken if_taken) {
  const std::vector<std::string> available = zones();
  if (available.empty()) return HeldPlace();
  const std::vector<std::string> ordered =
      route::zone_order(options_.places.zone, listed_, available);
  const route::Taken taken = places_.take(asked.service, ordered, clock_.now(), if_taken);
  note_due();
  switch (taken.kind) {
    case route::Taken::Kind::Beyond:
      stats_.beyond += 1;
      return hold(asked, taken.zone, true);
    case route::Taken::Kind::Within:
      return hold(asked, taken.zone, true);
    case route::Taken::Kind::Reject:
      stats_.rejected += 1;
      return full("HF2206", fmt::format("every zone is full for {}", asked.service));
    case route::Taken::Kind::Wait:
      break;
  }
  return std::nullopt;
}

asio::awaitable<Result<HeldPlace>> PlacesService::take(AskedFor asked, Zones zones, Time deadline) {
  InLine in_line(*this);
  const Time until = std::min(deadline, clock_.now() + options_.patience);
  const Time granted_by = std::min(until, clock_.now() + options_.grant_patience);
  while (!stopping_) {
    // Whoever may not queue is decided on when its moment is over, or if there is no room to wait.
    const bool is_over = clock_.now() >= granted_by;
    const bool no_room = !in_line.is_in() && !line_.has_room(asked.service);
    const bool decides = (is_over || no_room) && !places_.queues(asked.service);
    if (decides || in_line.may_try(asked.service)) {
      std::optional<Result<HeldPlace>> taken = try_take(
          asked, zones, is_over || no_room ? route::IfTaken::Decide : route::IfTaken::AwaitGrant);
      if (taken && in_line.is_in() && taken->ok()) stats_.waited += 1;
      if (taken) co_return *std::move(taken);
    }
    if (!in_line.is_in() && !in_line.join(asked.service)) {
      co_return full("HF2208", fmt::format("too many wait for a place of {}", asked.service));
    }
    if (clock_.now() >= until) {
      stats_.waited_in_vain += 1;
      co_return full("HF2207", fmt::format("every zone stayed full for {}", asked.service));
    }
    co_await in_line.wait((is_over ? until : granted_by) - clock_.now());
    const bool unwanted = co_await net::is_cancelled();
    if (unwanted) co_return absl::CancelledError("no longer wanted");
  }
  co_return coded(absl::StatusCode::kUnavailable, "HF2315", "the proxy takes no new connections");
}

void PlacesService::give_back(const HeldPlace& place, route::Ended how) {
  if (place.row_ != nullptr) {
    if (place.was_opened_) ConnectionCounts::ended(*place.row_, how);
    ConnectionCounts::let_go(*place.row_);
  }
  if (!place.in_places_) return;
  places_.give_back(place.service_, place.zone_, how, place.was_opened_, clock_.now());
  note_due();
  if (const auto next = line_.first(place.service_)) wake(*next);
}

void PlacesService::wake(PlaceLine::Ticket ticket) {
  const auto found = waiters_.find(ticket);
  if (found != waiters_.end()) found->second->cancel();
}

void PlacesService::wake_firsts() {
  for (const PlaceLine::Ticket ticket : line_.firsts()) wake(ticket);
}

void PlacesService::on_tick() {
  if (line_.waiting() > 0) wake_firsts();
}

void PlacesService::stop() {
  stopping_ = true;
  for (const auto& [ticket, timer] : waiters_) timer->cancel();
}

void PlacesService::on_grant(const route::LoadGrant& grant) {
  places_.on_grant(grant, clock_.now());
  due_seen_ = places_.report_due();
  wake_firsts();
}

void PlacesService::tell_waiting(std::string_view service) {
  places_.set_waiting(service, line_.waiting(service));
  note_due();
}

void PlacesService::note_due() {
  const Time due = places_.report_due();
  if (std::exchange(due_seen_, due) > due) wake_();
}

}  // namespace holdfast::tunnel

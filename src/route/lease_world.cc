#include "route/lease_world.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace holdfast::route::sim {

namespace {

constexpr std::string_view kService = "web";

}  // namespace

std::string zone_name(size_t zone) {
  return {static_cast<char>('a' + zone)};
}

World::World(WorldOptions options)
    : options_(std::move(options)),
      chance_(options_.seed),
      now_(std::chrono::hours(1)),
      offered_(options_.holders_in.size()),
      active_(options_.holders_in.size()),
      tallies_(options_.holders_in.size()) {
  if (options_.has_dealer) start_dealer();
  for (size_t zone = 0; zone < options_.holders_in.size(); ++zone) {
    for (size_t i = 0; i < options_.holders_in[zone]; ++i) join(zone);
  }
}

void World::at(Time time, std::function<void()> what) {
  queue_.push({.at = time, .number = ++events_, .what = std::move(what)});
}

void World::run_for(Duration duration) {
  const Time end = now_ + duration;
  while (!queue_.empty() && queue_.top().at <= end) {
    const Event event = queue_.top();
    queue_.pop();
    now_ = event.at;
    event.what();
  }
  now_ = end;
}

void World::watch(Duration every, std::function<void()> look) {
  at(now_ + every, [this, every, look = std::move(look), watches = watches_]() mutable {
    if (watches != watches_) return;
    look();
    watch(every, std::move(look));
  });
}

Duration World::exponential(Rng& rng, double mean_seconds) {
  const double uniform = (static_cast<double>(rng.next() >> 11) + 1) / 9007199254740993.0;
  return Duration(static_cast<int64_t>(-std::log(uniform) * mean_seconds * 1e9));
}

// Holders.

size_t World::join(size_t zone) {
  const size_t index = holders_.size();
  std::vector<std::string> names;
  for (size_t i = 0; i < active_.size(); ++i) names.push_back(zone_name(i));
  holders_.push_back({.name = "proxy/" + std::to_string(index),
                      .zone = zone,
                      .arrivals = Rng(options_.seed * 7919 + index),
                      .active = std::vector<uint64_t>(active_.size()),
                      .order = zone_order(zone_name(zone), names, names)});
  boot(index);
  return index;
}

void World::boot(size_t index) {
  Holder& holder = holders_[index];
  ++holder.life;
  holder.boot = chance_.next();
  holder.awaited = 0;
  holder.places = std::make_unique<Places>(
      PlacesOptions{.holder = holder.name, .zone = zone_name(holder.zone), .boot = holder.boot});
  holder.wakes_at = Time::max();
  tell_services();
  arm(index);
  next_arrival(index);
}

void World::crash(size_t index) {
  Holder& holder = holders_[index];
  ++holder.life;  // whatever was to happen to it does not
  ++holder.turn;
  holder.places.reset();
  for (size_t zone = 0; zone < active_.size(); ++zone) active_[zone] -= holder.active[zone];
  holder.active.assign(active_.size(), 0);
  tell_services();
}

void World::restart(size_t index) {
  boot(index);
}

void World::cut(size_t index, bool is_cut) {
  holders_[index].is_cut = is_cut;
}

void World::heal_network() {
  options_.lost_percent = 0;
  options_.repeated_percent = 0;
  options_.longest_delay = options_.shortest_delay;
  for (Holder& holder : holders_) holder.is_cut = false;
}

std::map<std::string, Capacity, std::less<>> World::services() const {
  Capacity capacity{.when_full = options_.when_full};
  for (size_t zone = 0; zone < active_.size(); ++zone) {
    capacity.zones[zone_name(zone)] = options_.capacity;
  }
  return {{std::string(kService), capacity}};
}

void World::tell_services() {
  const auto alive = std::ranges::count_if(
      holders_, [](const Holder& holder) { return holder.places != nullptr; });
  for (Holder& holder : holders_) {
    if (holder.places) holder.places->set_services(services(), static_cast<size_t>(alive));
  }
}

void World::set_capacity(uint64_t capacity) {
  options_.capacity = capacity;
  tell_services();
  if (dealer_) dealer_->set_services(services());
}

uint64_t World::leased(size_t zone) const {
  uint64_t sum = 0;
  for (const Holder& holder : holders_) {
    if (!holder.places) continue;
    for (const auto& view : holder.places->explain(kService, {zone_name(zone)}, now_)) {
      if (view.leased) sum += view.limit;
    }
  }
  return sum;
}

// Connections.

void World::offer(size_t zone, double load) {
  const bool begins = offered_[zone] == 0;
  offered_[zone] = load;
  for (size_t i = 0; begins && i < holders_.size(); ++i) {
    if (holders_[i].zone == zone && holders_[i].places) next_arrival(i);
  }
}

void World::next_arrival(size_t index) {
  Holder& holder = holders_[index];
  const auto alive = std::ranges::count_if(holders_, [&](const Holder& other) {
    return other.places != nullptr && other.zone == holder.zone;
  });
  const double offered = offered_[holder.zone] * static_cast<double>(options_.capacity);
  if (offered == 0) return;
  const double lifetime = std::chrono::duration<double>(options_.lifetime).count();
  const Duration wait =
      exponential(holder.arrivals, lifetime * static_cast<double>(alive) / offered);
  const Duration lasts = exponential(holder.arrivals, lifetime);
  at(now_ + wait, [this, index, lasts, turn = ++holder.turn] {
    if (holders_[index].turn != turn) return;
    arrive(index, lasts);
    next_arrival(index);
  });
}

void World::arrive(size_t index, Duration lifetime) {
  Holder& holder = holders_[index];
  const std::optional<size_t> zone = place(holder);
  if (options_.law == Law::Leases) arm(index);
  ++tallies_[holder.zone].all;
  if (!zone) {
    ++tallies_[holder.zone].refused;
    return;
  }
  count(holder, *zone);
  ++active_[*zone];
  ++holder.active[*zone];
  at(now_ + lifetime, [this, index, zone = *zone, life = holder.life] {
    Holder& owner = holders_[index];
    if (owner.life != life) return;
    --active_[zone];
    --owner.active[zone];
    if (options_.law != Law::Leases) return;
    owner.places->give_back(kService, zone_name(zone), Ended::Closed, true, now_);
    arm(index);
  });
}

std::optional<size_t> World::place(Holder& holder) {
  if (options_.law == Law::PreferClose) return holder.zone;
  if (options_.law == Law::Ideal) {
    for (const std::string& name : holder.order) {
      const auto zone = static_cast<size_t>(name[0] - 'a');
      if (active_[zone] < options_.capacity) return zone;
    }
    return holder.zone;
  }
  const Taken taken = holder.places->take(kService, holder.order, now_);
  if (taken.zone.empty()) return std::nullopt;
  holder.places->opened(kService, taken.zone);
  return static_cast<size_t>(taken.zone[0] - 'a');
}

void World::count(const Holder& holder, size_t zone) {
  Tally& tally = tallies_[holder.zone];
  if (active_[zone] >= options_.capacity) ++tally.beyond;
  if (zone == holder.zone) {
    ++tally.local;
    return;
  }
  ++tally.spilled;
  if (active_[holder.zone] * 10 < options_.capacity * 9) ++tally.early;
}

// Reports.

void World::arm(size_t index) {
  Holder& holder = holders_[index];
  if (options_.law != Law::Leases) return;
  const Time due = std::max(holder.places->report_due(), now_);
  if (due == Time::max() || due >= holder.wakes_at) return;
  holder.wakes_at = due;
  at(due, [this, index, life = holder.life, due] {
    Holder& woken = holders_[index];
    if (woken.life != life || woken.wakes_at != due) return;
    woken.wakes_at = Time::max();
    if (woken.places->report_due() <= now_) send_report(index);
    arm(index);
  });
}

Duration World::delay() {
  return options_.shortest_delay +
         chance_.below(options_.longest_delay - options_.shortest_delay + Duration(1));
}

bool World::is_lost(const Holder& holder) {
  return chance_.below(100) < options_.lost_percent || holder.is_cut;
}

void World::send_report(size_t index) {
  Holder& holder = holders_[index];
  const LoadReport report = holder.places->report(now_);
  ++reports_;
  holder.awaited = report.number;
  at(now_ + options_.report_timeout, [this, index, life = holder.life, number = report.number] {
    Holder& waiting = holders_[index];
    if (waiting.life != life || waiting.awaited != number) return;
    waiting.awaited = 0;
    waiting.places->on_report_failed(now_);
    arm(index);
  });
  if (is_lost(holder)) return;
  at(now_ + delay(), [this, index, report] { deliver(index, report); });
  if (chance_.below(100) < options_.repeated_percent) {
    at(now_ + delay() * 20, [this, index, report] { deliver(index, report); });
  }
}

void World::deliver(size_t index, const LoadReport& report) {
  if (!dealer_) return;
  const LoadGrant grant = dealer_->on_report(report, now_);
  if (is_lost(holders_[index])) return;
  at(now_ + delay(), [this, index, report, grant] { answer(index, report, grant); });
}

void World::answer(size_t index, const LoadReport& report, const LoadGrant& grant) {
  Holder& holder = holders_[index];
  if (!holder.places || holder.boot != report.boot) return;
  if (holder.awaited == report.number) holder.awaited = 0;
  holder.places->on_grant(grant, now_);
  arm(index);
}

void World::stop_dealer() {
  dealer_.reset();
}

void World::start_dealer() {
  dealer_.emplace(options_.dealer, now_);
  dealer_->set_services(services());
}

}  // namespace holdfast::route::sim

#include "tunnel/agent_pool_book.h"

#include <algorithm>
#include <utility>

namespace holdfast::tunnel {

void ProxyBook::set_bootstrap(const std::vector<std::string>& addresses) {
  bootstrap_.clear();
  ignored_bootstrap_ = 0;
  for (const std::string& address : addresses) {
    if (address.empty() || std::ranges::find(bootstrap_, address) != bootstrap_.end()) continue;
    if (bootstrap_.size() < options_.max_bootstrap) {
      bootstrap_.push_back(address);
    } else {
      ignored_bootstrap_ += 1;
    }
  }
}

void ProxyBook::remember(const ProxyInfo& proxy, Time now) {
  if (proxy.address.empty()) return;
  remembered_[proxy.name] = {proxy, now};
  if (remembered_.size() <= options_.max_remembered) return;
  remembered_.erase(std::ranges::min_element(remembered_, {},
                                             [](const auto& one) { return one.second.expired; }));
}

void ProxyBook::forget(std::string_view proxy) {
  const auto found = remembered_.find(proxy);
  if (found != remembered_.end()) remembered_.erase(found);
}

ProxyBook::Record& ProxyBook::record(const std::string& key, Time now) {
  const auto found = records_.find(key);
  if (found == records_.end() && records_.size() >= options_.max_records) {
    records_.erase(
        std::ranges::min_element(records_, {}, [](const auto& one) { return one.second.touched; }));
  }
  Record& record = records_[key];
  if (now - record.touched >= options_.forget_failures) record.failures = 0;
  record.touched = now;
  return record;
}

void ProxyBook::failed(const std::string& key, Time now) {
  record(key, now).failures += 1;
}

void ProxyBook::refused(const std::string& key, Time until, Time now) {
  record(key, now).not_before = until;
}

std::vector<Place> ProxyBook::places(const Tracker& tracker, bool last_resort, Time now) const {
  std::vector<Place> places;
  for (const auto& [name, proxy] : tracker.tracked()) {
    const ProxyInfo& info = proxy.info;
    if (info.address.empty() || tracker.is_claimed(name)) continue;
    const bool desired = tracker.is_desired(name);
    if (!desired && !last_resort) continue;
    const PlaceKind kind = desired         ? PlaceKind::Desired
                           : info.draining ? PlaceKind::Draining
                                           : PlaceKind::OldGeneration;
    add(places, {.proxy = name, .zone = info.zone, .address = info.address, .kind = kind}, now);
  }
  // Behind an address of the configuration may be anyone, even a proxy of ours: the known ones
  // come first, as long as they answer.
  const bool is_enough = !last_resort && std::ranges::any_of(places, [&](const Place& place) {
    return place.failures == 0 && place.not_before <= now;
  });
  for (const std::string& address : bootstrap_) {
    if (is_enough || leads_to_known(tracker, address)) continue;
    add(places, {.address = address, .kind = PlaceKind::Bootstrap}, now);
  }
  for (const auto& [name, proxy] : remembered_) {
    const ProxyInfo& info = proxy.info;
    if (!last_resort || tracker.tracked().contains(name) || tracker.is_claimed(name)) continue;
    add(places,
        {.proxy = name, .zone = info.zone, .address = info.address, .kind = PlaceKind::Remembered},
        now);
  }
  return places;
}

void ProxyBook::add(std::vector<Place>& places, Place place, Time now) const {
  const auto found = records_.find(place.proxy.empty() ? place.address : place.proxy);
  if (found != records_.end()) {
    const Record& record = found->second;
    place.not_before = record.not_before;
    if (now - record.touched < options_.forget_failures) place.failures = record.failures;
  }
  places.push_back(std::move(place));
}

bool ProxyBook::leads_to_known(const Tracker& tracker, std::string_view address) const {
  const auto is_there = [&](const auto& one) { return one.second.info.address == address; };
  return std::ranges::any_of(tracker.tracked(), is_there) ||
         std::ranges::any_of(remembered_, is_there);
}

}  // namespace holdfast::tunnel

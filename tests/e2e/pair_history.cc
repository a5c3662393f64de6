#include "e2e/pair_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace holdfast::test {
namespace {

bool is_acknowledged_write(const RegisterCall& call) {
  return call.act != Act::Read && call.ending == Ending::Ok;
}

}  // namespace

std::vector<std::string> wrong_epochs(std::vector<EpochSighting> sightings) {
  std::vector<std::string> wrong;
  std::map<uint64_t, std::string> half_of;
  for (const EpochSighting& sighting : sightings) {
    const auto [found, is_new] = half_of.try_emplace(sighting.epoch, sighting.half);
    if (is_new || found->second == sighting.half) continue;
    wrong.push_back(
        fmt::format("epoch {} is of {} and of {}", sighting.epoch, found->second, sighting.half));
  }
  std::vector<EpochSighting> by_return = sightings;
  std::ranges::sort(by_return, {}, &EpochSighting::returned);
  std::ranges::sort(sightings, {}, &EpochSighting::called);
  EpochSighting latest;
  size_t over = 0;
  for (const EpochSighting& sighting : sightings) {
    for (; over < by_return.size() && by_return[over].returned < sighting.called; ++over) {
      if (by_return[over].epoch > latest.epoch) latest = by_return[over];
    }
    if (sighting.epoch >= latest.epoch) continue;
    const auto later = std::chrono::duration<double>(sighting.called - latest.returned);
    wrong.push_back(
        fmt::format("{} answered in epoch {} what was asked {:.6f} s after {} had "
                    "answered in epoch {}",
                    sighting.half, sighting.epoch, later.count(), latest.half, latest.epoch));
  }
  return wrong;
}

void PairHistory::add(RegisterCall call) {
  const std::lock_guard lock(mutex_);
  if (is_acknowledged_write(call)) ++acknowledged_writes_;
  calls_.push_back(std::move(call));
}

void PairHistory::add(EpochSighting sighting) {
  const std::lock_guard lock(mutex_);
  sightings_.push_back(std::move(sighting));
}

std::vector<RegisterCall> PairHistory::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

std::vector<EpochSighting> PairHistory::sightings() const {
  const std::lock_guard lock(mutex_);
  return sightings_;
}

size_t PairHistory::acknowledged_writes() const {
  const std::lock_guard lock(mutex_);
  return acknowledged_writes_;
}

size_t PairHistory::acknowledged_writes_since(Time begin) const {
  const std::lock_guard lock(mutex_);
  return static_cast<size_t>(std::ranges::count_if(calls_, [begin](const RegisterCall& call) {
    return is_acknowledged_write(call) && call.called >= begin;
  }));
}

}  // namespace holdfast::test

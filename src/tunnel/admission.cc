#include "tunnel/admission.h"

#include <algorithm>

#include "base/check.h"

namespace holdfast::tunnel {

namespace {

double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}
Duration from_seconds(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

Admission::Admission(AdmissionOptions options, uint64_t seed, Time now)
    : options_(options), rng_(seed), tokens_(options.burst), refilled_(now) {
  HF_CHECK(options.max_handshakes > 0 && options.tunnels_per_second > 0 && options.burst > 0,
           "limits above zero");
}

void Admission::refill(Time now) {
  if (now <= refilled_) return;
  tokens_ = std::min<double>(options_.burst,
                             tokens_ + seconds(now - refilled_) * options_.tunnels_per_second);
  refilled_ = now;
}

double Admission::Failures::now(Time when, double per_second) const {
  return std::max(0.0, level - seconds(std::max(Duration::zero(), when - at)) * per_second);
}

void Admission::Failures::add(Time when, double per_second) {
  level = now(when, per_second) + 1;
  at = when;
}

bool Admission::is_failing(const std::string& address, Time now) const {
  const auto found = failing_.find(address);
  if (found == failing_.end()) return false;
  const double level = found->second.now(now, options_.failures_per_second_per_address);
  if (level >= options_.failure_burst_per_address) return true;
  return level > 0 && failures_.now(now, options_.failures_per_second) >= options_.failure_burst;
}

void Admission::note_failure(const std::string& address, Time now) {
  const double per_second = options_.failures_per_second_per_address;
  failures_.add(now, options_.failures_per_second);
  if (failing_.size() >= options_.max_failing_addresses && !failing_.contains(address)) {
    std::erase_if(failing_, [&](const auto& one) { return one.second.now(now, per_second) <= 0; });
    if (failing_.size() >= options_.max_failing_addresses) failing_.erase(failing_.begin());
  }
  failing_[address].add(now, per_second);
}

std::optional<Admission::Ticket> Admission::arrive(std::string_view address, Time now) {
  const std::string name(address);
  if (is_failing(name, now)) {
    ++stats_.failing;
    return std::nullopt;
  }
  Address& from = addresses_[name];
  // One that was being accepted while the queue filled is not cut off: max_quiet bounds those.
  if (from.unauthenticated >= options_.max_unauthenticated_per_address) {
    ++stats_.dropped;
    if (from.unauthenticated == 0 && from.handshakes == 0) addresses_.erase(name);
    return std::nullopt;
  }
  ++from.unauthenticated;
  const Ticket ticket = ++last_ticket_;
  entries_.emplace(ticket, Entry{.address = name, .since = now});
  quiet_.insert(ticket);
  return ticket;
}

void Admission::spoke(Ticket ticket) {
  if (quiet_.erase(ticket) == 0) return;
  waiting_.insert(ticket);
  stats_.max_waiting_seen =
      std::max(stats_.max_waiting_seen, static_cast<uint32_t>(waiting_.size()));
}

std::optional<Admission::Ticket> Admission::make_room(Time now) {
  if (quiet_.size() <= options_.max_quiet) return std::nullopt;
  const Ticket longest = *quiet_.begin();
  finish(longest, Outcome::Quiet, now);
  return longest;
}

bool Admission::has_slot(const Address& address) const {
  if (address.handshakes == 0 || addresses_.size() == 1) return true;
  const uint32_t most = std::max(1U, options_.max_handshakes / 2);
  const uint32_t left = options_.max_handshakes - handshakes_;
  return address.handshakes < most && left > options_.max_handshakes / 4;
}

std::optional<Admission::Ticket> Admission::pick(Time now) const {
  std::optional<Ticket> best;
  uint32_t fewest = 0;
  for (const Ticket ticket : waiting_) {
    const Entry& entry = entries_.at(ticket);
    // Those behind it came later.
    if (tokens_ < 1 && now - entry.since < options_.max_wait) break;
    const Address& address = addresses_.at(entry.address);
    if (!has_slot(address) || (best && address.handshakes >= fewest)) continue;
    best = ticket;
    fewest = address.handshakes;
    if (fewest == 0) break;
  }
  return best;
}

std::optional<Admission::Start> Admission::next(Time now) {
  refill(now);
  if (handshakes_ >= options_.max_handshakes) return std::nullopt;
  const std::optional<Ticket> ticket = pick(now);
  if (!ticket) return std::nullopt;
  Entry& entry = entries_.at(*ticket);
  Start start{.ticket = *ticket};
  if (tokens_ >= 1) {
    tokens_ -= 1;
    entry.has_token = true;
  } else {
    start.refuse = retry_after(now);
  }
  entry.running = true;
  ++handshakes_;
  ++addresses_.at(entry.address).handshakes;
  waiting_.erase(*ticket);
  return start;
}

void Admission::forget_stranger(Entry& entry) {
  if (!entry.unauthenticated) return;
  entry.unauthenticated = false;
  --addresses_.at(entry.address).unauthenticated;
}

void Admission::authenticated(Ticket ticket) {
  const auto found = entries_.find(ticket);
  if (found != entries_.end()) forget_stranger(found->second);
}

void Admission::finish(Ticket ticket, Outcome outcome, Time now) {
  const auto found = entries_.find(ticket);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  refill(now);
  forget_stranger(entry);
  Address& from = addresses_.at(entry.address);
  if (entry.running) {
    --handshakes_;
    --from.handshakes;
  }
  if (from.unauthenticated == 0 && from.handshakes == 0) addresses_.erase(entry.address);
  if (outcome == Outcome::Admitted) ++stats_.admitted;
  if (outcome == Outcome::Refused) ++stats_.refused;
  if (outcome == Outcome::Failed) ++stats_.failed;
  if (outcome == Outcome::Quiet) ++stats_.quiet;
  if (outcome == Outcome::Refused || outcome == Outcome::Failed) note_failure(entry.address, now);
  if (entry.has_token && outcome != Outcome::Admitted) {
    tokens_ = std::min<double>(options_.burst, tokens_ + 1);
  }
  quiet_.erase(ticket);
  waiting_.erase(ticket);
  entries_.erase(found);
}

std::optional<Time> Admission::next_deadline(Time now) const {
  if (waiting_.empty() || handshakes_ >= options_.max_handshakes) return std::nullopt;
  const double missing = 1 - (tokens_ + seconds(now - refilled_) * options_.tunnels_per_second);
  // Slots of an address come back with finish().
  if (missing <= 0) return std::nullopt;
  const Time token = now + from_seconds(missing / options_.tunnels_per_second) + Duration(1);
  return std::max(now, std::min(token, entries_.at(*waiting_.begin()).since + options_.max_wait));
}

Duration Admission::retry_after(Time now) {
  refill(now);
  const double backlog = static_cast<double>(waiting_.size()) / options_.tunnels_per_second;
  const Duration least = std::max(options_.min_retry, from_seconds(backlog));
  return std::min(least + rng_.below(least), options_.max_retry);
}

}  // namespace holdfast::tunnel

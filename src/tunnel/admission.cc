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

std::optional<Admission::Ticket> Admission::arrive(std::string_view address, Time now) {
  Address& from = addresses_[std::string(address)];
  if (from.unauthenticated >= options_.max_unauthenticated_per_address || !may_accept()) {
    ++stats_.dropped;
    if (from.unauthenticated == 0 && from.handshakes == 0) addresses_.erase(std::string(address));
    return std::nullopt;
  }
  ++from.unauthenticated;
  const Ticket ticket = ++last_ticket_;
  entries_.emplace(ticket, Entry{.address = std::string(address), .since = now});
  waiting_.insert(ticket);
  stats_.max_waiting_seen =
      std::max(stats_.max_waiting_seen, static_cast<uint32_t>(waiting_.size()));
  return ticket;
}

bool Admission::has_slot(const std::string& address) const {
  const uint32_t most = std::max(1U, options_.max_handshakes / 2);
  return addresses_.size() == 1 || addresses_.at(address).handshakes < most;
}

std::optional<Admission::Start> Admission::next(Time now) {
  refill(now);
  if (handshakes_ >= options_.max_handshakes) return std::nullopt;
  for (const Ticket ticket : waiting_) {
    Entry& entry = entries_.at(ticket);
    const bool has_token = tokens_ >= 1;
    const bool too_long = now - entry.since >= options_.max_wait;
    if (!has_token && !too_long) return std::nullopt;  // those behind it came later
    if (!has_slot(entry.address)) continue;
    Start start{.ticket = ticket};
    if (has_token) {
      tokens_ -= 1;
      entry.has_token = true;
    } else {
      start.refuse = retry_after(now);
    }
    entry.running = true;
    ++handshakes_;
    ++addresses_.at(entry.address).handshakes;
    waiting_.erase(ticket);
    return start;
  }
  return std::nullopt;
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
  if (entry.has_token && outcome != Outcome::Admitted) {
    tokens_ = std::min<double>(options_.burst, tokens_ + 1);
  }
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

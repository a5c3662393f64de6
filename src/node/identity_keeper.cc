#include "node/identity_keeper.h"

#include <algorithm>

namespace holdfast::node {
namespace {

WallTime::duration to_wall(Duration duration) {
  return std::chrono::duration_cast<WallTime::duration>(duration);
}

}  // namespace

IdentityKeeper::IdentityKeeper(IdentityKeeperOptions options, uint64_t seed)
    : options_(options), rng_(seed), backoff_(retry(), rng_.next()) {}

BackoffOptions IdentityKeeper::retry() const {
  return {.first = options_.first_retry, .cap = options_.longest_retry};
}

void IdentityKeeper::hold(const identity::Validity& validity, WallTime since) {
  expires_ = validity.not_after;
  const Duration life = expires_ - std::max(validity.not_before, since);
  // Earlier by up to a tenth of the life, so that those who joined together do not renew together.
  renew_at_ = expires_ - to_wall(life / 3 + rng_.below(life / 10));
  backoff_ = Backoff(retry(), rng_.next());
  renewing_ = false;
  expired_ = false;
}

void IdentityKeeper::told_to_renew(WallTime now) {
  // After a failure the backoff decides: the try it leads to is the one that is wanted.
  if (renewing_ || failures() > 0) return;
  renew_at_ = std::min(renew_at_, now);
}

void IdentityKeeper::failed(WallTime now) {
  if (!renewing_) return;
  renewing_ = false;
  const Duration left = expires_ - now;
  const Duration longest = std::max(left / 4, options_.shortest_retry);
  renew_at_ = now + to_wall(std::min(backoff_.next(), longest));
}

IdentityKeeper::Action IdentityKeeper::on_tick(WallTime now) {
  if (expired_) return Action::None;
  if (expires_ <= now) {
    expired_ = true;
    return Action::Expired;
  }
  if (renewing_ || !present_ || now < renew_at_) return Action::None;
  renewing_ = true;
  return Action::Renew;
}

std::optional<WallTime> IdentityKeeper::next_deadline() const {
  if (expired_) return std::nullopt;
  return renewing_ || !present_ ? expires_ : std::min(renew_at_, expires_);
}

}  // namespace holdfast::node

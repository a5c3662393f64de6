#include "tunnel/renewal.h"

#include <algorithm>

namespace holdfast::tunnel {

Duration renewal_lead(Duration lifetime, double part) {
  const double share = 1 - std::clamp(part, 0.0, 1.0) / 2;
  return std::chrono::duration_cast<Duration>(lifetime / 8 * share);
}

bool is_renewal_due(const TunnelLife& life, WallTime own_expires, Duration lead, WallTime now) {
  if (now >= life.own_expires - lead && own_expires > life.own_expires) return true;
  return now >= life.peer_expires - lead && now - life.since >= lead;
}

Standing standing_of(WallTime expires, Duration grace, WallTime now) {
  if (now < expires) return Standing::Good;
  return now < expires + grace ? Standing::Expired : Standing::Over;
}

}  // namespace holdfast::tunnel

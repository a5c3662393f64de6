// When an agent makes a tunnel anew, or a proxy its link to a peer, because the certificates it was
// made with near their end. A running one is not verified again, but proxies leave those whose
// certificate has expired.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace holdfast::tunnel {

struct TunnelLife {
  WallTime since{};         // connected
  WallTime own_expires{};   // the certificate that it was made with
  WallTime peer_expires{};  // that of the proxy that was dialled, at that time
};

// How long before the end: an eighth of what a certificate lives, less some of it by `part` (0 to
// 1) so that a fleet with certificates of the same hour does not come at once.
Duration renewal_lead(Duration lifetime, double part);

// `own_expires`: of the certificate that is held now. There must be something to gain: a newer one
// of ours, or, since nobody knows what the proxy holds by now, a tunnel that is older than `lead`.
bool is_renewal_due(const TunnelLife& life, WallTime own_expires, Duration lead, WallTime now);

// What a tunnel is still good for whose certificate ends at `expires`.
enum class Standing : uint8_t {
  Good,
  Expired,  // nothing new; what runs has `grace`
  Over,     // nothing at all
};
Standing standing_of(WallTime expires, Duration grace, WallTime now);

}  // namespace holdfast::tunnel

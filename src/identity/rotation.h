// Replacing the authority's key without cutting a node off. The authority is a resource
// (cert_authority/cluster); each step makes its next version.
//
//            START              NEXT            NEXT              NEXT               NEXT
//    none ────────► prepare ────────► dual ────────► switch ─────────► retire ────────► none
//    old signs      new trusted,      new signs,     all renew now,     old no longer    old gone
//                   old signs         old trusted    controllers too    trusted
//
// A step waits until every node has followed the one before, or cannot have a valid certificate.
// ROLLBACK leads from prepare to none with the old key. From dual and switch it leads to switch the
// other way round, where the old key signs and all renew, so that it cuts nobody off either; NEXT
// then goes on to retire and none. With cut_off_laggards it leads to none with the old key at once.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "holdfast/v1/identity.pb.h"
#include "holdfast/v1/resource.pb.h"
#include "identity/certificate.h"

namespace holdfast::identity {

// How long a node's certificate lasts at most; rotation relies on it.
inline constexpr std::chrono::hours kMaxNodeCertificateLife{24};

// The first version. Requires: `key` is the cluster's.
v1::CertAuthority first_authority(const std::string& cluster, const SigningKey& key, WallTime now);

struct RotationStep {
  v1::RotateAction action = v1::ROTATE_ACTION_UNSPECIFIED;
  bool cut_off_laggards = false;
  // For START only.
  SigningKey new_key{};
};
struct Rotated {
  v1::CertAuthority authority;
  std::vector<std::string> laggards;  // of the step after this one
};
// `nodes`: every announced controller, proxy and agent. kFailedPrecondition HF5020 if the action
// does not fit the phase, HF5021 naming up to ten laggards if the step would cut nodes off.
Result<Rotated> rotate(const v1::CertAuthority& authority, const std::vector<v1::Resource>& nodes,
                       const RotationStep& step, WallTime now);
// Nodes that NEXT would cut off: "agent/edge-07". In prepare those that do not trust the new key;
// in switch those that have not announced a certificate of the signing key since it began, for at
// most kMaxNodeCertificateLife. Nodes that have been silent or expired for that long do not count.
std::vector<std::string> laggards(const v1::CertAuthority& authority,
                                  const std::vector<v1::Resource>& nodes, WallTime now);

// The key that signs now; what is trusted now, as PEM; the pins of it, the signing one first.
Result<SigningKey> signing_key(const v1::CertAuthority& authority);
std::string trusted_pem(const v1::CertAuthority& authority);
Result<std::vector<std::string>> trusted_pins(const v1::CertAuthority& authority);
// Whether a node whose certificate was signed by `issuer_pin` should renew it at once. Not if it
// has none.
bool should_renew(const v1::CertAuthority& authority, const std::string& issuer_pin);
// The same for a caller that keeps trusted_pins(), whose first is the signing one: reading a
// certificate takes a third of a millisecond, too long for each announcement of a large fleet.
bool should_renew(v1::RotationPhase phase, const std::string& signing_pin,
                  const std::string& issuer_pin);

}  // namespace holdfast::identity

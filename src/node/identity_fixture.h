// A cluster's authority and certificates of it, for tests.
#pragma once

#include <string>

#include "identity/certificate.h"
#include "node/held_identity.h"

namespace holdfast::node {

class TestCluster {
 public:
  static constexpr WallTime kNow{std::chrono::milliseconds(1'700'000'000'000)};

  const std::string& ca() const { return key_.certificate_pem; }
  std::string pin() const { return identity::pin_of(ca()).value(); }
  IdentityPems pems(const std::string& name, identity::Role role = identity::Role::Agent) const {
    const std::string key = identity::make_private_key().value();
    const identity::CertificateSpec spec{
        .identity = {.role = role, .cluster = "prod", .name = name},
        .validity = {.not_before = kNow, .not_after = kNow + std::chrono::hours(24)}};
    const std::string request = identity::make_request(key).value();
    return {.private_key = key,
            .certificate = identity::issue(key_, spec, request).value(),
            .ca = ca()};
  }

 private:
  identity::SigningKey key_ =
      identity::make_authority(
          "prod", {.not_before = kNow, .not_after = kNow + std::chrono::hours(24 * 3650)})
          .value();
};

}  // namespace holdfast::node

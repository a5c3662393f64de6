// For tests: an authority of its own, and certificates of it.
#pragma once

#include <string>

#include "base/check.h"
#include "base/clock.h"
#include "identity/certificate.h"

namespace holdfast::api {

class TestAuthority {
 public:
  TestAuthority(std::string cluster, WallTime now)
      : cluster_(std::move(cluster)),
        now_(now),
        key_(unwrap(identity::make_authority(cluster_, validity(std::chrono::hours(24 * 365))))) {}

  const std::string& ca_pem() const { return key_.certificate_pem; }
  const std::string& cluster() const { return cluster_; }

  std::string certificate(identity::Identity who,
                          std::chrono::seconds life = std::chrono::hours(1)) const {
    who.cluster = cluster_;
    const std::string request =
        unwrap(identity::make_request(unwrap(identity::make_private_key())));
    return unwrap(
        identity::issue(key_, {.identity = std::move(who), .validity = validity(life)}, request));
  }

 private:
  template <typename T>
  static T unwrap(Result<T> result) {
    HF_CHECK(result.ok(), result.status().ToString());
    return *std::move(result);
  }
  identity::Validity validity(std::chrono::seconds life) const {
    return {.not_before = now_ - std::chrono::minutes(1), .not_after = now_ + life};
  }

  std::string cluster_;
  WallTime now_;
  identity::SigningKey key_;
};

}  // namespace holdfast::api

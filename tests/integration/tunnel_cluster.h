// A cluster's authority and certificates of its agents and proxies, for tests of tunnels.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/clock.h"
#include "identity/certificate.h"

namespace holdfast::test {

struct TunnelPems {
  std::string private_key;
  std::string certificate;
  std::string ca;
};

class TunnelCluster {
 public:
  explicit TunnelCluster(std::string name = "prod")
      : name_(std::move(name)), key_(identity::make_authority(name_, validity()).value()) {}

  // The authority's key with the name of another cluster in its certificates.
  TunnelCluster renamed(const std::string& name) const {
    TunnelCluster other = *this;
    other.name_ = name;
    return other;
  }

  TunnelPems pems(identity::Role role, const std::string& name, const std::string& zone,
                  std::optional<std::chrono::seconds> valid_for = {}) const {
    const std::string key = identity::make_private_key().value();
    const identity::CertificateSpec spec{
        .identity = {.role = role, .cluster = name_, .name = name, .zone = zone},
        .validity = valid_for ? for_only(*valid_for) : validity()};
    const std::string request = identity::make_request(key).value();
    return {.private_key = key,
            .certificate = identity::issue(key_, spec, request).value(),
            .ca = key_.certificate_pem};
  }
  const std::string& name() const { return name_; }
  const std::string& ca() const { return key_.certificate_pem; }

 private:
  static identity::Validity for_only(std::chrono::seconds length) {
    const WallTime now = SystemClock().wall_now();
    return {.not_before = now, .not_after = now + length};
  }
  static identity::Validity validity() {
    const WallTime now = SystemClock().wall_now();
    return {.not_before = now - std::chrono::hours(1), .not_after = now + std::chrono::hours(24)};
  }

  std::string name_;
  identity::SigningKey key_;
};

}  // namespace holdfast::test

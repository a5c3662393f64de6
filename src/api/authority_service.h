// The cluster's authority as this controller knows it: signs certificates, keeps the controller's
// own one fresh, and tells the gate whom to trust. Fed with the stored authority, roles and users;
// empty until `holdfast init`.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/gate.h"
#include "api/user_revisions.h"
#include "base/clock.h"
#include "base/result.h"
#include "holdfast/v1/identity.pb.h"
#include "holdfast/v1/resource.pb.h"
#include "identity/certificate.h"
#include "store/store.h"

namespace holdfast::api {

// The authority's resource; there is one.
inline constexpr std::string_view kAuthorityName = "cluster";

struct AuthorityOptions {
  std::string controller_name;
  std::string zone{};
  std::vector<std::string> hosts{};  // others reach this controller by
  Duration node_certificate_ttl = std::chrono::hours(24);
  // Clocks differ: certificates are valid from a little before now.
  Duration clock_skew = std::chrono::minutes(5);
};

// What a server shows: its certificate and the authority's, and the key.
struct ServerCertificate {
  std::string chain_pem;
  std::string private_key_pem;
  WallTime expires;
  std::string issuer_pin;
};

class AuthorityService {
 public:
  using OnCertificate = std::function<void(const ServerCertificate&)>;

  AuthorityService(Gate& gate, const Clock& clock, AuthorityOptions options,
                   OnCertificate on_certificate);

  // What is stored of cert_authority, role and user: everything, or one change.
  void on_reset(resource::Kind kind, const std::vector<store::Item>& items);
  void on_change(const store::Change& change);
  // A user that was just read: known here before its certificate is used.
  void note_user(const v1::Resource& user);
  // Renews the controller's own certificate at two thirds of its life.
  void on_tick();

  bool has_authority() const { return authority_.has_value(); }
  // kFailedPrecondition HF5013 before `holdfast init`.
  Result<v1::CertAuthority> authority() const;
  // What everyone may know.
  Result<v1::Authority> facts() const;
  const std::optional<ServerCertificate>& certificate() const { return certificate_; }
  // Why the own certificate could not be made; OK if it could.
  const Status& status() const { return status_; }

  struct Ask {
    identity::Identity identity;  // its cluster is filled in
    std::vector<std::string> hosts{};
    std::string request_pem;
    Duration ttl{};
  };
  Result<v1::Credentials> issue(const Ask& ask) const;

 private:
  void take(const v1::Resource& resource);
  void take_authority(const v1::CertAuthority& authority);
  void update_gate(resource::Kind kind);
  Status renew_own();

  Gate& gate_;
  const Clock& clock_;
  AuthorityOptions options_;
  OnCertificate on_certificate_;
  std::optional<v1::CertAuthority> authority_;
  identity::Roles roles_;
  Gate::Users users_;
  UserRevisions user_revisions_;
  bool knows_users_ = false;  // all of them
  std::optional<ServerCertificate> certificate_;
  WallTime renew_at_{};
  Status status_;
};

// The authority as everyone may know it.
Result<v1::Authority> facts_of(const v1::CertAuthority& authority);

}  // namespace holdfast::api

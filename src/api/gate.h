// The one way into the controller: who calls, whether it may, and not too often. Both fronts (gRPC
// and HTTP) ask here first; every refusal goes to the audit.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "api/audit_service.h"
#include "base/clock.h"
#include "base/result.h"
#include "identity/certificate.h"
#include "identity/permissions.h"
#include "identity/rate_limit.h"
#include "resource/registry.h"

namespace holdfast::api {

// What a transport knows of its peer.
struct Presented {
  std::string chain_pem;     // empty: no certificate
  std::string source;        // "10.0.0.7:40112", or "unix"
  bool local = false;        // came in by the unix socket
  uint64_t known_epoch = 0;  // the highest of a pair that the caller knows of
};

// An admitted caller, for the time of one call.
struct Caller {
  identity::Identity identity{};
  std::string source{};
  WallTime expires{};  // of its certificate
  std::string issuer_pin{};
  std::shared_ptr<const identity::Permissions> permissions{};
};

// What the audit says of an allowed call.
identity::AuditRecord record_of(const Caller& caller, std::string_view verb,
                                std::string_view object);

struct GateOptions {
  identity::RateLimitOptions per_caller;
  identity::RateLimitOptions per_source{.per_second = 50, .burst = 100};  // without a certificate
};

class Gate {
 public:
  Gate(const Clock& clock, AuditService& audit, GateOptions options);

  // Until trust is set, only local callers are anybody.
  Status set_trust(const std::string& cluster, const std::string& ca_pem);
  void set_roles(identity::Roles roles);
  // The users there are, with their roles; a disabled one is not among them. Until this is called
  // no user is let in.
  using Users = std::map<std::string, std::set<std::string>>;
  void set_users(Users users);
  // Changes when someone may have lost a permission.
  uint64_t version() const { return version_; }
  // Who it is, without counting it as a request: for streams that were let in before.
  Result<Caller> identify(const Presented& presented);

  // Who it is. No certificate: Nobody, who may still join. kUnauthenticated for a certificate that
  // does not hold (HF5003, HF5004), kResourceExhausted HF5011 above the rate; `verb` is for the
  // audit, as "list" or "watch".
  Result<Caller> admit(const Presented& presented, std::string_view verb);
  // kPermissionDenied HF5001 or kUnauthenticated HF5002, audited.
  Status allow(const Caller& caller, identity::Call call);
  Result<identity::Grant> allow(const Caller& caller, v1::Verb verb, resource::Kind kind,
                                std::string_view name);
  // As allow() refuses, for what only the resource itself shows. Always an error.
  Status refuse_resource(const Caller& caller, v1::Verb verb, resource::Kind kind,
                         std::string_view name);
  // Writes it to the audit; returns `why`.
  Status refuse(const Caller& caller, std::string_view verb, std::string_view object,
                const Status& why);

  uint64_t refused_by_rate() const { return per_caller_.refused() + per_source_.refused(); }

 private:
  Status narrow_to_stored(identity::Identity& user) const;

  const Clock& clock_;
  AuditService& audit_;
  identity::Trust trust_;
  std::shared_ptr<const identity::Permissions> permissions_;
  std::optional<Users> users_;
  uint64_t version_ = 0;
  identity::RateLimit per_caller_;
  identity::RateLimit per_source_;
};

}  // namespace holdfast::api

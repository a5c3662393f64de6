// What each identity may do: a fixed table for nodes, roles made of rules for users. Nothing is
// allowed that no line allows. docs/permissions.md shows the tables; tests compare every cell.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "holdfast/v1/resource.pb.h"
#include "identity/identity.h"
#include "resource/kind.h"

namespace holdfast::identity {

// The calls that are not about a resource of a kind.
enum class Call {
  Health,  // grpc.health.v1 Check and Watch
  Reflection,
  ServiceConfig,
  Status,
  WhoAmI,
  GetAuthority,
  Init,
  CreateToken,
  Join,
  Renew,
  Login,
  IssueUser,
  SetPassword,
  Rotate,
  Announce,  // of oneself; Local may announce anyone
  Goodbye,   // likewise
  Pair,      // what the halves of a pair of controllers say to each other
  GetPair,
  PairControl,  // switching over, and promoting by force
  Witness,      // of whoever keeps the pair's record
  Report,       // of one's own load; controllers pass on those of others
};
inline constexpr int kCallCount = 21;
std::string_view to_string(Call call);

using Labels = std::map<std::string, std::string>;

struct Grant {
  bool allowed = false;
  // If not empty: only services whose labels match one of these. Only for Kind::Service.
  std::vector<Labels> only_services{};
};
// Whether the grant holds for this resource. An update asks for what is stored and for what is to
// replace it: otherwise a label would be enough to take a service over.
bool covers(const Grant& grant, const v1::Resource& resource);

// Roles by name, as stored; "viewer", "operator" and "admin" are built in and cannot be redefined.
// In a stored role "*" stands for every kind but token, role, user and cert_authority: what holds
// secrets or decides permissions has to be named.
using Roles = std::map<std::string, v1::Role>;
v1::Role builtin_role(std::string_view name);  // empty if it is not one

class Permissions {
 public:
  explicit Permissions(Roles roles = {}) : roles_(std::move(roles)) {}

  Grant on_resources(const Identity& identity, v1::Verb verb, resource::Kind kind) const;
  // Secrets are for controllers alone: neither users nor the local socket see them.
  bool sees_secrets(const Identity& identity, resource::Kind kind) const;
  bool may_call(const Identity& identity, Call call) const;

 private:
  Roles roles_;
};

// kPermissionDenied HF5001 "agent/edge-07 may not delete service"; kUnauthenticated HF5002 for
// Nobody. Names nothing but what the caller said.
Status refused(const Identity& identity, std::string_view what);

}  // namespace holdfast::identity

#include "api/gate.h"

#include <fmt/format.h>

#include "base/reason.h"

namespace holdfast::api {
namespace {

using identity::Identity;
using identity::Role;

std::string_view name_of(v1::Verb verb) {
  switch (verb) {
    case v1::VERB_GET:
      return "get";
    case v1::VERB_LIST:
      return "list";
    case v1::VERB_WATCH:
      return "watch";
    case v1::VERB_CREATE:
      return "create";
    case v1::VERB_UPDATE:
      return "update";
    case v1::VERB_DELETE:
      return "delete";
    case v1::VERB_CONNECT:
      return "connect";
    default:
      return "use";
  }
}

// Without its port: many connections of one host are one caller.
std::string host_of(const std::string& source) {
  return source.substr(0, source.rfind(':'));
}

}  // namespace

identity::AuditRecord record_of(const Caller& caller, std::string_view verb,
                                std::string_view object) {
  return {.actor = identity::to_string(caller.identity),
          .source = caller.source,
          .verb = std::string(verb),
          .object = std::string(object),
          .allowed = true};
}

Gate::Gate(const Clock& clock, AuditService& audit, GateOptions options)
    : clock_(clock),
      audit_(audit),
      permissions_(std::make_shared<const identity::Permissions>()),
      per_caller_(options.per_caller),
      per_source_(options.per_source) {}

Status Gate::set_trust(const std::string& cluster, const std::string& ca_pem) {
  version_ += 1;
  return trust_.set(cluster, ca_pem);
}

void Gate::set_roles(identity::Roles roles) {
  permissions_ = std::make_shared<const identity::Permissions>(std::move(roles));
  version_ += 1;
}

void Gate::set_users(Users users) {
  users_ = std::move(users);
  version_ += 1;
}

// What the certificate and the stored user have in common: what was taken away is gone at once.
Status Gate::narrow_to_stored(Identity& user) const {
  if (!users_) return absl::UnavailableError("the users are not known yet; try again");
  const auto stored = users_->find(user.name);
  if (stored == users_->end()) {
    return coded(absl::StatusCode::kUnauthenticated, "HF5012", "this user was disabled or deleted");
  }
  std::erase_if(user.user_roles,
                [&](const std::string& role) { return !stored->second.contains(role); });
  return absl::OkStatus();
}

Result<Caller> Gate::identify(const Presented& presented) {
  Caller caller{.source = presented.source, .permissions = permissions_};
  if (presented.local) {
    caller.identity.role = Role::Local;
    return caller;
  }
  if (presented.chain_pem.empty()) return caller;
  TRY(identity::Peer peer, trust_.verify(presented.chain_pem, clock_.wall_now()));
  if (peer.identity.role == Role::User) TRY_OK(narrow_to_stored(peer.identity));
  caller.identity = std::move(peer.identity);
  caller.expires = peer.expires;
  caller.issuer_pin = std::move(peer.issuer_pin);
  return caller;
}

Result<Caller> Gate::admit(const Presented& presented, std::string_view verb) {
  Result<Caller> caller = identify(presented);
  const bool known = caller.ok() && caller->identity.role != Role::Nobody;
  const bool within_rate =
      presented.local ||
      (known ? per_caller_.admit(identity::to_string(caller->identity), clock_.now())
             : per_source_.admit(host_of(presented.source), clock_.now()));
  if (caller.ok() && within_rate) return caller;
  // A flood of bad certificates is a flood all the same, but the first ones are told why.
  const Status why = within_rate ? caller.status()
                                 : coded(absl::StatusCode::kResourceExhausted, "HF5011",
                                         "too many requests; slow down");
  const Caller nobody{.source = presented.source};
  return refuse(known ? *caller : nobody, verb, "", why);
}

Status Gate::allow(const Caller& caller, identity::Call call) {
  if (caller.permissions->may_call(caller.identity, call)) return absl::OkStatus();
  const std::string_view name = identity::to_string(call);
  return refuse(caller, name, "", identity::refused(caller.identity, name));
}

Result<identity::Grant> Gate::allow(const Caller& caller, v1::Verb verb, resource::Kind kind,
                                    std::string_view name) {
  identity::Grant grant = caller.permissions->on_resources(caller.identity, verb, kind);
  if (grant.allowed) return grant;
  return refuse_resource(caller, verb, kind, name);
}

Status Gate::refuse_resource(const Caller& caller, v1::Verb verb, resource::Kind kind,
                             std::string_view name) {
  const std::string_view kind_name = resource::info(kind).name;
  const std::string object =
      name.empty() ? std::string(kind_name) : fmt::format("{}/{}", kind_name, name);
  return refuse(caller, name_of(verb), object,
                identity::refused(caller.identity, fmt::format("{} {}", name_of(verb), kind_name)));
}

Status Gate::refuse(const Caller& caller, std::string_view verb, std::string_view object,
                    const Status& why) {
  identity::AuditRecord record = record_of(caller, verb, object);
  record.allowed = false;
  record.code = std::string(split_reason(why).code);
  audit_.refusal(std::move(record));
  return why;
}

}  // namespace holdfast::api

#include "identity/permissions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/reason.h"
#include "resource/registry.h"

namespace holdfast::identity {
namespace {

using resource::Kind;
using resource::KindSet;
using std::string_view;

using Verbs = std::initializer_list<v1::Verb>;
constexpr Verbs kRead = {v1::VERB_GET, v1::VERB_LIST, v1::VERB_WATCH};
constexpr Verbs kWrite = {v1::VERB_CREATE, v1::VERB_UPDATE, v1::VERB_DELETE};
constexpr Verbs kEverything = {v1::VERB_GET,    v1::VERB_LIST,   v1::VERB_WATCH,  v1::VERB_CREATE,
                               v1::VERB_UPDATE, v1::VERB_DELETE, v1::VERB_CONNECT};
constexpr Verbs kOnlyGet = {v1::VERB_GET};

// What a stored role has to name: "*" does not mean these.
constexpr KindSet kGuarded = {Kind::Token, Kind::Role, Kind::User, Kind::CertAuthority};
constexpr KindSet kViewed = KindSet::all() - KindSet{Kind::Token, Kind::User, Kind::CertAuthority};
constexpr KindSet kOperated = {Kind::Service, Kind::NetworkingConfig, Kind::ZoneMap,
                               Kind::CapacityLease};
constexpr KindSet kPresence = {Kind::Controller, Kind::Proxy, Kind::Agent};
constexpr KindSet kProxyReads = KindSet::all() - KindSet{Kind::Token};
constexpr KindSet kAgentReads = {Kind::Controller,       Kind::Proxy,   Kind::Service,
                                 Kind::NetworkingConfig, Kind::ZoneMap, Kind::CertAuthority,
                                 Kind::CapacityLease};

bool is_among(Verbs verbs, v1::Verb verb) {
  return std::ranges::find(verbs, verb) != verbs.end();
}

// The authority changes by its own calls only, and a token is made by one: written as resources
// they could be forged by whoever may write.
bool is_open(v1::Verb verb, Kind kind) {
  if (kind == Kind::CertAuthority) return is_among(kRead, verb);
  if (kind == Kind::Token) return is_among(kRead, verb) || verb == v1::VERB_DELETE;
  return true;
}

// The fixed table of those who are not users.
bool fixed_grant(Role role, v1::Verb verb, Kind kind) {
  switch (role) {
    case Role::Controller:
    case Role::Local:
      return is_among(kEverything, verb);
    case Role::Proxy:
      return kProxyReads.contains(kind) && is_among(kRead, verb);
    case Role::Agent:
      return kAgentReads.contains(kind) && is_among(kRead, verb);
    case Role::Witness:
      return kind == Kind::Controller && is_among(kOnlyGet, verb);
    case Role::User:
    case Role::Nobody:
      return false;
  }
  return false;
}

void add_rule(v1::Role& role, KindSet kinds, Verbs verbs) {
  v1::Rule& rule = *role.add_rules();
  for (const Kind kind : kinds.kinds()) rule.add_kinds(std::string(resource::info(kind).name));
  for (const v1::Verb verb : verbs) rule.add_verbs(verb);
}

bool names_kind(const v1::Rule& rule, Kind kind) {
  const string_view name = resource::info(kind).name;
  return std::ranges::any_of(rule.kinds(), [&](const std::string& each) {
    return each == name || (each == "*" && !kGuarded.contains(kind));
  });
}

// Who may make a call: nodes by their role, users by whether they are admins.
enum Callers : unsigned {
  kNone = 0,
  kController = 1 << 0,
  kCarriers = 1 << 1,  // proxy, agent
  kUser = 1 << 2,
  kAdmin = 1 << 3,  // besides what every user may
  kLocal = 1 << 4,
  kNobody = 1 << 5,
  kWitness = 1 << 6,
};
constexpr unsigned kNodes = kController | kCarriers | kWitness;
constexpr unsigned kPeople = kUser | kAdmin | kLocal;
constexpr unsigned kAdmins = kAdmin | kLocal;
constexpr unsigned kEverybody = kNodes | kPeople | kNobody;

struct CallRow {
  Call call;
  string_view name;
  unsigned callers;
};
constexpr std::array<CallRow, kCallCount> kCalls = {{
    {Call::Health, "Health", kNodes | kPeople},
    {Call::Reflection, "Reflection", kController | kPeople},
    {Call::ServiceConfig, "ServiceConfig", kNodes | kPeople},
    {Call::Status, "Status", kController | kPeople},
    {Call::WhoAmI, "WhoAmI", kNodes | kPeople},
    {Call::GetAuthority, "GetAuthority", kEverybody},
    {Call::Init, "Init", kLocal},
    {Call::CreateToken, "CreateToken", kAdmins},
    {Call::Join, "Join", kEverybody},
    {Call::Renew, "Renew", kNodes},
    {Call::Login, "Login", kEverybody},
    {Call::IssueUser, "IssueUser", kAdmins},
    {Call::SetPassword, "SetPassword", kPeople},
    {Call::Rotate, "Rotate", kAdmins},
    {Call::Announce, "Announce", kNodes | kLocal},
    {Call::Goodbye, "Goodbye", kNodes | kLocal},
    {Call::Pair, "Pair", kController},
    {Call::GetPair, "GetPair", kNodes | kPeople},
    {Call::PairControl, "PairControl", kAdmins},
    {Call::Witness, "Witness", kController},
    {Call::Report, "Report", kController | kCarriers | kLocal},
}};

const CallRow& row_of(Call call) {
  const auto row = std::ranges::find(kCalls, call, &CallRow::call);
  HF_CHECK(row != kCalls.end(), "every call has a row");
  return *row;
}

bool is_admin(const Identity& identity) {
  return std::ranges::find(identity.user_roles, "admin") != identity.user_roles.end();
}

unsigned caller_of(const Identity& identity) {
  switch (identity.role) {
    case Role::Controller:
      return kController;
    case Role::Proxy:
    case Role::Agent:
      return kCarriers;
    case Role::Witness:
      return kWitness;
    case Role::User:
      return is_admin(identity) ? kUser | kAdmin : kUser;
    case Role::Local:
      return kLocal;
    case Role::Nobody:
      return kNobody;
  }
  return kNone;
}

// Adds what one role gives; returns whether it gives all, without regard to labels.
bool add_grant(const v1::Role& role, v1::Verb verb, Kind kind, Grant& grant) {
  for (const v1::Rule& rule : role.rules()) {
    const bool has_verb = std::ranges::find(rule.verbs(), verb) != rule.verbs().end();
    if (!has_verb || !names_kind(rule, kind)) continue;
    if (rule.service_labels().empty()) return true;
    if (kind != Kind::Service) continue;
    grant.allowed = true;
    grant.only_services.emplace_back(rule.service_labels().begin(), rule.service_labels().end());
  }
  return false;
}

}  // namespace

string_view to_string(Call call) {
  return row_of(call).name;
}

bool covers(const Grant& grant, const v1::Resource& resource) {
  if (!grant.allowed || grant.only_services.empty()) return grant.allowed;
  const auto& labels = resource.metadata().labels();
  const auto has = [&](const auto& wanted) {
    const auto found = labels.find(wanted.first);
    return found != labels.end() && found->second == wanted.second;
  };
  return std::ranges::any_of(
      grant.only_services, [&](const Labels& wanted) { return std::ranges::all_of(wanted, has); });
}

v1::Role builtin_role(string_view name) {
  v1::Role role;
  if (name == "admin") {
    add_rule(role, KindSet::all(), kEverything);
  } else if (name == "viewer" || name == "operator") {
    add_rule(role, kViewed, kRead);
  }
  if (name == "operator") {
    add_rule(role, kOperated, kWrite);
    add_rule(role, kPresence, {v1::VERB_DELETE});
    add_rule(role, {Kind::Service}, {v1::VERB_CONNECT});
  }
  return role;
}

Grant Permissions::on_resources(const Identity& identity, v1::Verb verb, Kind kind) const {
  // Nobody connects to anything but a service.
  if (verb == v1::VERB_UNSPECIFIED || (verb == v1::VERB_CONNECT && kind != Kind::Service)) {
    return {};
  }
  if (identity.role != Role::Controller && !is_open(verb, kind)) return {};
  if (identity.role != Role::User) return {.allowed = fixed_grant(identity.role, verb, kind)};
  Grant grant;
  for (const std::string& name : identity.user_roles) {
    const v1::Role builtin = builtin_role(name);
    const auto stored = roles_.find(name);
    const bool is_stored = builtin.rules().empty() && stored != roles_.end();
    if (add_grant(is_stored ? stored->second : builtin, verb, kind, grant)) {
      return {.allowed = true};
    }
  }
  return grant;
}

bool Permissions::sees_secrets(const Identity& identity, Kind kind) const {
  return identity.role == Role::Controller && !resource::info(kind).secret_paths.empty();
}

bool Permissions::may_call(const Identity& identity, Call call) const {
  return (row_of(call).callers & caller_of(identity)) != 0;
}

Status refused(const Identity& identity, string_view what) {
  if (identity.role == Role::Nobody) {
    return coded(absl::StatusCode::kUnauthenticated, "HF5002",
                 fmt::format("without a certificate nobody may {}", what));
  }
  return coded(absl::StatusCode::kPermissionDenied, "HF5001",
               fmt::format("{} may not {}", to_string(identity), what));
}

}  // namespace holdfast::identity

#include "api/authority_service.h"

#include "api/resource_service.h"
#include "base/log.h"
#include "base/reason.h"
#include "identity/rotation.h"
#include "resource/proto_time.h"
#include "resource/registry.h"

namespace holdfast::api {

using identity::Validity;
using resource::Kind;

Result<v1::Authority> facts_of(const v1::CertAuthority& authority) {
  v1::Authority facts;
  facts.set_cluster(authority.cluster());
  facts.set_ca_pem(identity::trusted_pem(authority));
  TRY(const std::vector<std::string> pins, identity::trusted_pins(authority));
  for (const std::string& pin : pins) facts.add_pins(pin);
  facts.set_phase(authority.phase());
  *facts.mutable_phase_since() = authority.phase_since();
  return facts;
}

AuthorityService::AuthorityService(Gate& gate, const Clock& clock, AuthorityOptions options,
                                   OnCertificate on_certificate)
    : gate_(gate),
      clock_(clock),
      options_(std::move(options)),
      on_certificate_(std::move(on_certificate)) {}

void AuthorityService::on_reset(Kind kind, const std::vector<store::Item>& items) {
  if (kind == Kind::Role) roles_.clear();
  if (kind == Kind::User) {
    users_.clear();
    user_revisions_.clear();
    knows_users_ = true;
  }
  for (const store::Item& item : items) {
    const Result<v1::Resource> resource = decode_item(item);
    if (resource.ok()) take(*resource);
  }
  update_gate(kind);
}

void AuthorityService::on_change(const store::Change& change) {
  const std::optional<resource::StoreKey> key = resource::parse_store_key(change.item.key);
  if (!key) return;
  const bool deleted = change.type == store::Change::Type::Delete;
  if (key->kind == Kind::User &&
      !user_revisions_.advance(key->name, change.item.revision, deleted)) {
    return;
  }
  if (deleted) {
    if (key->kind == Kind::Role) roles_.erase(key->name);
    if (key->kind == Kind::User) users_.erase(key->name);
  } else {
    const Result<v1::Resource> resource = decode_item(change.item);
    if (resource.ok()) take(*resource);
  }
  update_gate(key->kind);
}

void AuthorityService::take(const v1::Resource& resource) {
  const std::string& name = resource.metadata().name();
  if (resource.has_role()) roles_[name] = resource.role();
  if (resource.has_user()) {
    users_.erase(name);
    const auto& roles = resource.user().roles();
    if (!resource.user().disabled()) users_[name] = {roles.begin(), roles.end()};
  }
  if (resource.has_cert_authority() && name == kAuthorityName) {
    take_authority(resource.cert_authority());
  }
}

void AuthorityService::note_user(const v1::Resource& user) {
  store::Change change;
  change.item.key = resource::store_key(Kind::User, user.metadata().name());
  change.item.value = user.SerializeAsString();
  change.item.revision = user.metadata().revision();
  on_change(change);
}

void AuthorityService::update_gate(Kind kind) {
  if (kind == Kind::Role) gate_.set_roles(roles_);
  // A half of a pair knows its users with its authority, by a copy of the other half's.
  if (kind == Kind::User && knows_users_ && authority_) gate_.set_users(users_);
}

void AuthorityService::take_authority(const v1::CertAuthority& authority) {
  const Status trusted = gate_.set_trust(authority.cluster(), identity::trusted_pem(authority));
  if (!trusted.ok()) {
    status_ = trusted;
    log::error("the stored authority cannot be used", {{"why", trusted.ToString()}});
    return;
  }
  authority_ = authority;
  update_gate(Kind::User);
  if (!certificate_ || identity::should_renew(authority, certificate_->issuer_pin)) {
    renew_at_ = clock_.wall_now();
  }
  on_tick();
}

void AuthorityService::on_tick() {
  if (!authority_ || clock_.wall_now() < renew_at_) return;
  const Status renewed = renew_own();
  if (!renewed.ok() && status_.ok()) {
    log::error("cannot renew the controller's own certificate", {{"why", renewed.ToString()}});
  }
  status_ = renewed;
}

Status AuthorityService::renew_own() {
  TRY(const std::string key, identity::make_private_key());
  TRY(const std::string request, identity::make_request(key));
  const Ask ask{.identity = {.role = identity::Role::Controller,
                             .name = options_.controller_name,
                             .zone = options_.zone},
                .hosts = options_.hosts,
                .request_pem = request,
                .ttl = options_.node_certificate_ttl};
  TRY(const v1::Credentials made, issue(ask));
  TRY(const identity::SigningKey signing, identity::signing_key(*authority_));
  TRY(std::string pin, identity::pin_of(signing.certificate_pem));
  const WallTime now = clock_.wall_now();
  const WallTime expires = resource::to_wall_time(made.expires());
  renew_at_ = now + (expires - now) * 2 / 3;
  certificate_ = ServerCertificate{.chain_pem = made.certificate_pem() + signing.certificate_pem,
                                   .private_key_pem = key,
                                   .expires = expires,
                                   .issuer_pin = std::move(pin)};
  on_certificate_(*certificate_);
  return absl::OkStatus();
}

Result<v1::CertAuthority> AuthorityService::authority() const {
  if (authority_) return *authority_;
  return coded(absl::StatusCode::kFailedPrecondition, "HF5013",
               "the cluster has no authority yet; run `holdfast init` on the controller");
}

Result<v1::Authority> AuthorityService::facts() const {
  TRY(const v1::CertAuthority known, authority());
  return facts_of(known);
}

Result<v1::Credentials> AuthorityService::issue(const Ask& ask) const {
  TRY(const v1::CertAuthority known, authority());
  TRY(const identity::SigningKey key, identity::signing_key(known));
  const WallTime now = clock_.wall_now();
  const auto round = [](Duration duration) {
    return std::chrono::duration_cast<WallTime::duration>(duration);
  };
  identity::CertificateSpec spec{.identity = ask.identity,
                                 .hosts = ask.hosts,
                                 .validity = {.not_before = now - round(options_.clock_skew),
                                              .not_after = now + round(ask.ttl)}};
  spec.identity.cluster = known.cluster();
  TRY(const std::string certificate, identity::issue(key, spec, ask.request_pem));
  TRY(const Validity validity, identity::validity_of(certificate));
  v1::Credentials made;
  made.set_certificate_pem(certificate);
  made.set_ca_pem(identity::trusted_pem(known));
  *made.mutable_expires() = resource::to_proto(validity.not_after);
  made.set_cluster(known.cluster());
  made.set_name(ask.identity.name);
  made.set_zone(ask.identity.zone);
  return made;
}

}  // namespace holdfast::api

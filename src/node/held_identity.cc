#include "node/held_identity.h"

#include <fmt/format.h>

namespace holdfast::node {
namespace {

using identity::Role;

constexpr std::string_view kBeginCertificate = "-----BEGIN CERTIFICATE-----";

bool is_node(Role role) {
  return role == Role::Controller || role == Role::Proxy || role == Role::Agent ||
         role == Role::Witness;
}

// Which of those it trusts signed its certificate.
Result<std::string> find_issuer(const HeldIdentity& held) {
  identity::Trust trust;
  TRY_OK(trust.set(held.who.cluster, held.ca_pem));
  // In the middle of its life, whenever that is: whether it has run out is not asked here.
  const WallTime middle =
      held.validity.not_before + (held.validity.not_after - held.validity.not_before) / 2;
  const Result<identity::Peer> peer = trust.verify(held.certificate_pem, middle);
  return peer.ok() ? peer->issuer_pin : "";
}

}  // namespace

IdentityPems split_identity(std::string_view pem) {
  IdentityPems parts;
  const size_t at = pem.find(kBeginCertificate);
  parts.private_key = std::string(pem.substr(0, at));
  if (at != std::string_view::npos) parts.certificate = std::string(pem.substr(at));
  return parts;
}

Result<HeldIdentity> make_held(const IdentityPems& pems) {
  HeldIdentity held{
      .private_key_pem = pems.private_key, .certificate_pem = pems.certificate, .ca_pem = pems.ca};
  TRY(held.who, identity::identity_of(held.certificate_pem));
  if (!is_node(held.who.role)) {
    return absl::InvalidArgumentError(
        fmt::format("the certificate is {}'s, not a node's", identity::to_string(held.who)));
  }
  TRY(held.validity, identity::validity_of(held.certificate_pem));
  TRY_OK(identity::check_key(held.certificate_pem, held.private_key_pem));
  TRY(const std::vector<std::string> trusted, identity::split_chain(held.ca_pem));
  for (const std::string& one : trusted) {
    TRY(std::string pin, identity::pin_of(one));
    held.trusted_pins.push_back(std::move(pin));
  }
  TRY(held.issuer_pin, find_issuer(held));
  return held;
}

Result<HeldIdentity> with_bundle(const HeldIdentity& held, const std::string& ca_pem) {
  return make_held(
      {.private_key = held.private_key_pem, .certificate = held.certificate_pem, .ca = ca_pem});
}

Result<HeldIdentity> with_certificate(const HeldIdentity& held, const IdentityPems& pems) {
  TRY(HeldIdentity next, make_held(pems));
  if (next.who != held.who) {
    return absl::InvalidArgumentError(fmt::format("the certificate is {}'s, not {}'s",
                                                  identity::to_string(next.who),
                                                  identity::to_string(held.who)));
  }
  return next;
}

}  // namespace holdfast::node

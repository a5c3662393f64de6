// Trust of certificate.h: who presents a certificate, and whether the cluster's authority says so.
#include <unordered_map>

#include "base/check.h"
#include "base/reason.h"
#include "identity/certificate.h"
#include "identity/openssl.h"

namespace holdfast::identity {
namespace {

using ssl::QuietErrors;

// Certificates between the leaf and the authority: there are none.
constexpr int kMaxIntermediates = 0;

// These two sentences are all that a stranger hears.
Status out_of_time() {
  return coded(absl::StatusCode::kUnauthenticated, "HF5003",
               "the certificate has expired or is not valid yet");
}

Status not_trusted() {
  return coded(absl::StatusCode::kUnauthenticated, "HF5004",
               "the certificate is not one of this cluster");
}

struct Verified {
  Peer peer;
  Validity validity;  // of the certificate and of its authority
};

Result<Verified> when_valid(const Verified& verified, WallTime now) {
  const WallTime second(std::chrono::seconds(ssl::to_seconds(now)));
  if (second < verified.validity.not_before || second >= verified.validity.not_after) {
    return out_of_time();
  }
  return verified;
}

Result<ssl::StoreContext> make_context(X509_STORE& store, X509& leaf, WallTime now) {
  ssl::StoreContext context(X509_STORE_CTX_new());
  if (context == nullptr || X509_STORE_CTX_init(context.get(), &store, &leaf, nullptr) != 1) {
    return not_trusted();
  }
  X509_VERIFY_PARAM* rules = X509_STORE_CTX_get0_param(context.get());
  X509_VERIFY_PARAM_set_time(rules, ssl::to_seconds(now));
  X509_VERIFY_PARAM_set_depth(rules, kMaxIntermediates);
  X509_VERIFY_PARAM_set_flags(rules, X509_V_FLAG_X509_STRICT);
  if (X509_VERIFY_PARAM_set_purpose(rules, X509_PURPOSE_SSL_CLIENT) != 1) return not_trusted();
  return context;
}

// The authority that signed `leaf`; it belongs to `context`.
Result<X509*> authority_of(X509_STORE_CTX& context) {
  if (X509_verify_cert(&context) != 1) {
    const int error = X509_STORE_CTX_get_error(&context);
    const bool time =
        error == X509_V_ERR_CERT_HAS_EXPIRED || error == X509_V_ERR_CERT_NOT_YET_VALID;
    return time ? out_of_time() : not_trusted();
  }
  const STACK_OF(X509)* chain = X509_STORE_CTX_get0_chain(&context);
  if (sk_X509_num(chain) != 2) return not_trusted();
  return sk_X509_value(chain, 1);
}

Result<Verified> verify_leaf(X509_STORE& store, X509& leaf, const std::string& cluster,
                             WallTime now) {
  const bool signs =
      X509_check_ca(&leaf) != 0 || (X509_get_extension_flags(&leaf) & EXFLAG_CA) != 0;
  if (signs) return not_trusted();
  TRY(const ssl::StoreContext context, make_context(store, leaf, now));
  TRY(X509 * authority, authority_of(*context));
  const auto identity = ssl::named_identity(leaf);
  const auto life = ssl::validity(leaf);
  const auto authority_life = ssl::validity(*authority);
  if (!identity.ok() || identity->cluster != cluster || !life.ok() || !authority_life.ok()) {
    return not_trusted();
  }
  return Verified{.peer = {.identity = *identity,
                           .expires = life->not_after,
                           .issuer_pin = ssl::pin(*authority)},
                  .validity = {.not_before = std::max(life->not_before, authority_life->not_before),
                               .not_after = std::min(life->not_after, authority_life->not_after)}};
}

}  // namespace

struct Trust::State {
  std::string cluster;
  ssl::Store store;
  std::unordered_map<std::string, Verified> verified;  // by the SHA-256 of the certificate
};

Trust::Trust() : state_(std::make_unique<State>()) {}

Trust::~Trust() = default;

Status Trust::set(const std::string& cluster, const std::string& ca_pem) {
  const QuietErrors quiet;
  TRY(const std::vector<ssl::Certificate> authorities, ssl::read_certificates(ca_pem));
  ssl::Store store(X509_STORE_new());
  HF_CHECK(store != nullptr, "memory for what is trusted");
  for (const ssl::Certificate& authority : authorities) {
    if (X509_check_ca(authority.get()) != 1) {
      return absl::InvalidArgumentError("a certificate is not an authority's");
    }
    HF_CHECK(X509_STORE_add_cert(store.get(), authority.get()) == 1, "memory for an authority");
  }
  state_->cluster = cluster;
  state_->store = std::move(store);
  state_->verified.clear();
  return absl::OkStatus();
}

Result<Peer> Trust::verify(const std::string& chain_pem, WallTime now) {
  const QuietErrors quiet;
  const auto der = ssl::first_certificate_der(chain_pem);
  if (!der.ok() || state_->store == nullptr) return not_trusted();
  const std::string digest = ssl::sha256(*der);
  if (const auto known = state_->verified.find(digest); known != state_->verified.end()) {
    TRY(const Verified verified, when_valid(known->second, now));
    return verified.peer;
  }
  const ssl::Certificate leaf = ssl::certificate_from_der(*der);
  if (leaf == nullptr) return not_trusted();
  TRY(const Verified fresh, verify_leaf(*state_->store, *leaf, state_->cluster, now));
  if (state_->verified.size() >= kMaxVerified) state_->verified.clear();
  state_->verified.emplace(digest, fresh);
  return fresh.peer;
}

size_t Trust::cached() const {
  return state_->verified.size();
}

}  // namespace holdfast::identity

// make_server() and check_server() of certificate.h: certificates that name no identity of a
// cluster.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/x509_vfy.h>

#include "base/check.h"
#include "identity/builder.h"
#include "identity/certificate.h"
#include "identity/openssl.h"
#include "resource/text_rules.h"

namespace holdfast::identity {
namespace {

// As OpenSSL's configuration has it: "DNS:a.example,DNS:b.example". What is in it is only letters,
// digits, dots and dashes, so nothing else can be smuggled in.
Result<std::string> alt_names(const std::vector<std::string>& names) {
  if (names.empty()) return absl::InvalidArgumentError("a server's certificate has a name");
  for (const std::string& name : names) {
    const bool is_dns = name.find_first_of(":[]") == std::string::npos &&
                        resource::wrong_ip(name) && !resource::wrong_address(name + ":1");
    if (!is_dns) return absl::InvalidArgumentError("a server's name is not a DNS name");
  }
  return fmt::format("DNS:{}", fmt::join(names, ",DNS:"));
}

// Names in the subject do not count for clients of today, and a '*' is a whole label.
constexpr unsigned kNameRules =
    X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS;

Status not_named(const std::string& pem, const std::string& host) {
  TRY(const std::vector<std::string> names, hosts_of(pem));
  return absl::InvalidArgumentError(
      fmt::format("it is not for {}; {}", host,
                  names.empty() ? "it has no subjectAltName of a host at all"
                                : fmt::format("it is for {}", fmt::join(names, ", "))));
}

// The certificates between; they belong to the chain.
struct FreeList {
  void operator()(STACK_OF(X509) * list) const { sk_X509_free(list); }
};
using Between = std::unique_ptr<STACK_OF(X509), FreeList>;

ssl::Store store_of(const std::vector<ssl::Certificate>& authorities) {
  ssl::Store store(X509_STORE_new());
  HF_CHECK(store != nullptr, "memory for what is trusted");
  for (const ssl::Certificate& authority : authorities) {
    HF_CHECK(X509_STORE_add_cert(store.get(), authority.get()) == 1, "memory for an authority");
  }
  return store;
}

}  // namespace

Result<SigningKey> make_server(const SigningKey& authority, const std::vector<std::string>& names,
                               const Validity& validity) {
  const ssl::QuietErrors quiet;
  TRY(const std::string alt, alt_names(names));
  TRY(const ssl::Certificate issuer, ssl::read_certificate(authority.certificate_pem));
  TRY(const ssl::Key issuer_key, ssl::read_private_key(authority.private_key_pem));
  SigningKey made;
  TRY(made.private_key_pem, make_private_key());
  TRY(const ssl::Key key, ssl::read_private_key(made.private_key_pem));
  TRY(ssl::Builder builder, ssl::Builder::start(validity, *key));
  TRY_OK(builder.add_subject(NID_commonName, names.front()));
  TRY_OK(builder.add_extension(NID_basic_constraints, "critical,CA:FALSE", *issuer));
  TRY_OK(builder.add_extension(NID_key_usage, "critical,digitalSignature", *issuer));
  TRY_OK(builder.add_extension(NID_ext_key_usage, "serverAuth", *issuer));
  TRY_OK(builder.add_extension(NID_subject_key_identifier, "hash", *issuer));
  TRY_OK(builder.add_extension(NID_authority_key_identifier, "keyid:always", *issuer));
  TRY_OK(builder.add_extension(NID_subject_alt_name, alt.c_str(), *issuer));
  TRY(made.certificate_pem, builder.sign(*issuer, *issuer_key));
  return made;
}

Status check_server(const ServerTrust& trust, const std::string& host, WallTime now) {
  const ssl::QuietErrors quiet;
  TRY(const std::vector<ssl::Certificate> chain, ssl::read_certificates(trust.chain_pem));
  TRY(const std::vector<ssl::Certificate> authorities, ssl::read_certificates(trust.ca_pem));
  if (X509_check_host(chain[0].get(), host.c_str(), 0, kNameRules, nullptr) != 1) {
    return not_named(trust.chain_pem, host);
  }
  const Between between(sk_X509_new_null());
  for (size_t i = 1; i < chain.size(); ++i) sk_X509_push(between.get(), chain[i].get());
  const ssl::Store store = store_of(authorities);
  const ssl::StoreContext context(X509_STORE_CTX_new());
  HF_CHECK(context != nullptr &&
               X509_STORE_CTX_init(context.get(), store.get(), chain[0].get(), between.get()) == 1,
           "memory to verify with");
  X509_VERIFY_PARAM* rules = X509_STORE_CTX_get0_param(context.get());
  X509_VERIFY_PARAM_set_time(rules, ssl::to_seconds(now));
  // What is given as an authority is believed, also if somebody else signed it.
  X509_VERIFY_PARAM_set_flags(rules, X509_V_FLAG_PARTIAL_CHAIN);
  HF_CHECK(X509_VERIFY_PARAM_set_purpose(rules, X509_PURPOSE_SSL_SERVER) == 1, "a purpose");
  if (X509_verify_cert(context.get()) == 1) return absl::OkStatus();
  const int error = X509_STORE_CTX_get_error(context.get());
  return absl::InvalidArgumentError(
      fmt::format("the authority does not vouch for it: {}", X509_verify_cert_error_string(error)));
}

}  // namespace holdfast::identity

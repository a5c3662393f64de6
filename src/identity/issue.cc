// issue() of certificate.h: what a stranger's request may ask, and what we make of it.
#include <arpa/inet.h>
#include <openssl/core_names.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "identity/builder.h"
#include "identity/certificate.h"
#include "identity/openssl.h"
#include "resource/text_rules.h"

namespace holdfast::identity {
namespace {

using std::string_view;

constexpr size_t kMaxRequestBytes = size_t{16} * 1024;
constexpr size_t kMaxHosts = 64;
constexpr string_view kRequestTypes[] = {"CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST"};
constexpr string_view kOwnDomain = "holdfast";

Status wrong_request(string_view why) {
  return absl::InvalidArgumentError("the certificate request " + std::string(why));
}

// Others reach it by addresses of its own.
bool has_hosts(Role role) {
  return role == Role::Controller || role == Role::Proxy;
}

bool is_good_curve(const EVP_PKEY& key) {
  std::array<char, 64> group{};
  size_t size = 0;
  int is_explicit = 1;
  if (EVP_PKEY_get_group_name(&key, group.data(), group.size(), &size) != 1) return false;
  // A curve spelled out number by number is refused even if it is the right one.
  EVP_PKEY_get_int_param(&key, OSSL_PKEY_PARAM_EC_DECODED_FROM_EXPLICIT_PARAMS, &is_explicit);
  const string_view name(group.data(), size);
  return is_explicit == 0 && (name == "prime256v1" || name == "secp384r1");
}

// A huge exponent would make every check of a signature slow.
bool is_good_rsa(const EVP_PKEY& key) {
  const int bits = EVP_PKEY_get_bits(&key);
  BIGNUM* raw = nullptr;
  if (EVP_PKEY_get_bn_param(&key, OSSL_PKEY_PARAM_RSA_E, &raw) != 1) return false;
  const ssl::BigNumber exponent(raw);
  const int exponent_bits = BN_num_bits(exponent.get());
  return bits >= 2048 && bits <= 4096 && BN_is_odd(exponent.get()) && exponent_bits >= 17 &&
         exponent_bits <= 32;
}

bool is_good_key(const EVP_PKEY& key) {
  if (EVP_PKEY_is_a(&key, "EC")) return is_good_curve(key);
  if (EVP_PKEY_is_a(&key, "RSA")) return is_good_rsa(key);
  return EVP_PKEY_is_a(&key, "ED25519");
}

// The request, once it has proved that it comes from whoever has the key.
Result<ssl::Request> checked_request(const std::string& pem) {
  if (pem.size() > kMaxRequestBytes) return wrong_request("is too big");
  const ssl::Bio bio = ssl::reader(pem);
  const auto der = ssl::next_pem(*bio, kRequestTypes);
  if (!der.ok() || der->empty()) return wrong_request("is not one in PEM");
  const auto* at = reinterpret_cast<const unsigned char*>(der->data());
  const unsigned char* end = at + der->size();
  ssl::Request request(d2i_X509_REQ(nullptr, &at, static_cast<long>(der->size())));
  if (request == nullptr || at != end) return wrong_request("cannot be read");
  EVP_PKEY* key = X509_REQ_get0_pubkey(request.get());
  // The key first: the signature is only as cheap to check as the key is sane.
  if (key == nullptr || !is_good_key(*key)) {
    return wrong_request("has a key that is not P-256, P-384, Ed25519 or RSA of 2048 to 4096 bits");
  }
  if (X509_REQ_verify(request.get(), key) != 1) return wrong_request("is not signed by its key");
  return request;
}

bool add_name(GENERAL_NAMES& names, int type, string_view bytes) {
  ssl::AltName name(GENERAL_NAME_new());
  ASN1_STRING* text =
      ASN1_STRING_type_new(type == GEN_IPADD ? V_ASN1_OCTET_STRING : V_ASN1_IA5STRING);
  if (name == nullptr || text == nullptr ||
      ASN1_STRING_set(text, bytes.data(), static_cast<int>(bytes.size())) != 1) {
    ASN1_STRING_free(text);
    return false;
  }
  GENERAL_NAME_set0_value(name.get(), type, text);
  if (sk_GENERAL_NAME_push(&names, name.get()) <= 0) return false;
  name.release();
  return true;
}

std::optional<std::string> ip_bytes(const std::string& text) {
  std::array<char, sizeof(in6_addr)> address{};
  if (inet_pton(AF_INET, text.c_str(), address.data()) == 1) {
    return std::string(address.data(), sizeof(in_addr));
  }
  if (inet_pton(AF_INET6, text.c_str(), address.data()) != 1) return std::nullopt;
  return std::string(address.data(), address.size());
}

std::string folded(string_view host) {
  std::string out(host);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::tolower(c); });
  if (out.ends_with('.')) out.pop_back();
  return out;
}

// kInvalidArgument if it is no host, or one of the names by which servers of ours are told apart:
// otherwise a proxy could ask to be called a controller.
Status check_host(const std::string& host) {
  if (!resource::wrong_ip(host)) return absl::OkStatus();
  const bool is_dns = !host.contains('[') && !host.contains(':') &&
                      !resource::wrong_address(host + ":1").has_value();
  if (!is_dns) return absl::InvalidArgumentError("a host is not a host name or IP address");
  const std::string name = folded(host);
  if (name == kOwnDomain || name.ends_with("." + std::string(kOwnDomain))) {
    return absl::InvalidArgumentError("a host ends in .holdfast, which is reserved");
  }
  return absl::OkStatus();
}

Result<std::vector<std::string>> hosts_of_spec(const CertificateSpec& spec) {
  const Role role = spec.identity.role;
  std::vector<std::string> hosts;
  if (role == Role::Proxy || role == Role::Agent || role == Role::Witness) {
    hosts.emplace_back(kWitnessServerName);
  }
  if (!has_hosts(role)) {
    if (spec.hosts.empty()) return hosts;
    return absl::InvalidArgumentError("only controllers and proxies have hosts");
  }
  if (spec.hosts.size() > kMaxHosts) return absl::InvalidArgumentError("too many hosts");
  const string_view own = role == Role::Controller ? kControllerServerName : kProxyServerName;
  hosts.insert(hosts.end(), {std::string(own), "localhost", "127.0.0.1", "::1"});
  for (const std::string& host : spec.hosts) {
    TRY_OK(check_host(host));
    const std::string name = folded(host);
    if (std::ranges::find(hosts, name) == hosts.end()) hosts.push_back(name);
  }
  return hosts;
}

Status add_names(const CertificateSpec& spec, ssl::Builder& builder) {
  TRY(const std::vector<std::string> hosts, hosts_of_spec(spec));
  const ssl::AltNames names(sk_GENERAL_NAME_new_null());
  if (names == nullptr || !add_name(*names, GEN_URI, to_uri(spec.identity))) {
    return ssl::out_of_resources();
  }
  for (const std::string& host : hosts) {
    const auto ip = ip_bytes(host);
    if (!add_name(*names, ip ? GEN_IPADD : GEN_DNS, ip.value_or(host))) {
      return ssl::out_of_resources();
    }
  }
  return builder.add_alt_names(*names);
}

struct Authority {
  ssl::Certificate certificate;
  ssl::Key key;
};

Result<Authority> read_authority(const SigningKey& signing) {
  auto certificate = ssl::read_certificate(signing.certificate_pem);
  auto key = ssl::read_private_key(signing.private_key_pem);
  if (!certificate.ok() || !key.ok() ||
      X509_check_private_key(certificate->get(), key->get()) != 1) {
    return absl::DataLossError("the authority's certificate or key is damaged");
  }
  return Authority{.certificate = *std::move(certificate), .key = *std::move(key)};
}

Result<Validity> within(const Validity& wanted, const X509& authority) {
  TRY(const Validity whole, ssl::validity(authority));
  const Validity cut{.not_before = std::max(wanted.not_before, whole.not_before),
                     .not_after = std::min(wanted.not_after, whole.not_after)};
  if (cut.not_before < cut.not_after) return cut;
  return absl::FailedPreconditionError("the authority is not valid at that time");
}

}  // namespace

Result<std::string> issue(const SigningKey& authority, const CertificateSpec& spec,
                          const std::string& request_pem) {
  const ssl::QuietErrors quiet;
  TRY_OK(check_identity(spec.identity));
  TRY(const ssl::Request request, checked_request(request_pem));
  TRY(const Authority issuer, read_authority(authority));
  TRY(const Validity validity, within(spec.validity, *issuer.certificate));
  TRY(ssl::Builder builder, ssl::Builder::start(validity, *X509_REQ_get0_pubkey(request.get())));
  TRY_OK(builder.add_subject(NID_commonName, spec.identity.name));
  X509& signer = *issuer.certificate;
  TRY_OK(builder.add_extension(NID_basic_constraints, "critical,CA:FALSE", signer));
  TRY_OK(builder.add_extension(NID_key_usage, "critical,digitalSignature", signer));
  const bool serves = spec.identity.role != Role::User;
  const char* usage = serves ? "serverAuth,clientAuth" : "clientAuth";
  TRY_OK(builder.add_extension(NID_ext_key_usage, usage, signer));
  TRY_OK(builder.add_extension(NID_subject_key_identifier, "hash", signer));
  TRY_OK(builder.add_extension(NID_authority_key_identifier, "keyid:always", signer));
  TRY_OK(add_names(spec, builder));
  return builder.sign(signer, *issuer.key);
}

}  // namespace holdfast::identity

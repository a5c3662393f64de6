// make_server() of certificate.h: the one certificate that names no identity of a cluster.
#include <fmt/format.h>
#include <fmt/ranges.h>

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

}  // namespace holdfast::identity

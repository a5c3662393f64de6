#include "identity/certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/params.h>
#include <openssl/pem.h>

#include <set>

#include "identity/openssl.h"

namespace holdfast::identity {
namespace {

using absl::StatusCode;
using std::chrono::hours;

constexpr WallTime kCertificateNow(std::chrono::milliseconds(1'700'000'000'000));
constexpr Validity kYears{.not_before = kCertificateNow,
                          .not_after = kCertificateNow + hours(24 * 3650)};
constexpr Validity kDay{.not_before = kCertificateNow, .not_after = kCertificateNow + hours(24)};

SigningKey authority() {
  return make_authority("prod", kYears).value();
}

std::string request() {
  return make_request(make_private_key().value()).value();
}

CertificateSpec spec_of(Role role, std::vector<std::string> hosts = {}) {
  return {.identity = {.role = role, .cluster = "prod", .name = "x-1"},
          .hosts = std::move(hosts),
          .validity = kDay};
}

// As `openssl x509 -text` shows it.
std::string shown(const std::string& pem) {
  const auto certificate = ssl::read_certificate(pem).value();
  const ssl::Bio bio(BIO_new(BIO_s_mem()));
  X509_print(bio.get(), certificate.get());
  return ssl::written(*bio);
}

// A request with a key of the given kind, such as "RSA" and 1024 bits or "EC" and a curve.
std::string request_with(EVP_PKEY* made, const EVP_MD* digest) {
  const ssl::Key key(made);
  const ssl::Request wanted(X509_REQ_new());
  X509_REQ_set_pubkey(wanted.get(), key.get());
  X509_REQ_sign(wanted.get(), key.get(), digest);
  const ssl::Bio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509_REQ(bio.get(), wanted.get());
  return ssl::written(*bio);
}

TEST(Certificate, NamesItsIdentityAndLife) {
  CertificateSpec spec = spec_of(Role::Agent);
  spec.identity.zone = "a";

  const std::string pem = issue(authority(), spec, request()).value();

  EXPECT_EQ(identity_of(pem).value(), spec.identity);
  EXPECT_EQ(validity_of(pem).value().not_before, kDay.not_before);
  EXPECT_EQ(validity_of(pem).value().not_after, kDay.not_after);
}

TEST(Certificate, OfServersServesAndOfOthersOnlyCalls) {
  const SigningKey key = authority();
  for (const Role role : {Role::Controller, Role::Proxy}) {
    const std::string text = shown(issue(key, spec_of(role), request()).value());
    EXPECT_THAT(text, testing::HasSubstr("TLS Web Server Authentication, TLS Web Client"));
  }
  const std::string text = shown(issue(key, spec_of(Role::User), request()).value());
  EXPECT_THAT(text, testing::HasSubstr("TLS Web Client Authentication"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("TLS Web Server")));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("DNS:")));
}

TEST(Certificate, OfAnAgentOrAWitnessServesAsAWitnessAndAsNothingElse) {
  const SigningKey key = authority();
  for (const Role role : {Role::Agent, Role::Witness}) {
    const std::string text = shown(issue(key, spec_of(role), request()).value());
    EXPECT_THAT(text, testing::HasSubstr(", DNS:witness.holdfast\n"));
    EXPECT_THAT(text, testing::Not(testing::HasSubstr("controller.holdfast")));
    EXPECT_THAT(text, testing::Not(testing::HasSubstr("proxy.holdfast")));
    EXPECT_THAT(text, testing::Not(testing::HasSubstr("IP Address")));
  }
  const std::string controller = shown(issue(key, spec_of(Role::Controller), request()).value());
  EXPECT_THAT(controller, testing::Not(testing::HasSubstr("witness.holdfast")));
}

TEST(Certificate, HasWhatVerifiersAskFor) {
  const std::string text = shown(issue(authority(), spec_of(Role::Agent), request()).value());

  EXPECT_THAT(text, testing::HasSubstr("Basic Constraints: critical\n                CA:FALSE"));
  EXPECT_THAT(text, testing::HasSubstr("Key Usage: critical\n                Digital Signature"));
  EXPECT_THAT(text, testing::HasSubstr("Subject Key Identifier"));
  EXPECT_THAT(text, testing::HasSubstr("Authority Key Identifier"));
  EXPECT_THAT(text, testing::HasSubstr("URI:holdfast://prod/agent/x-1"));
  EXPECT_THAT(text, testing::HasSubstr("Subject: CN=x-1"));
  EXPECT_THAT(text, testing::HasSubstr("ecdsa-with-SHA256"));
}

TEST(Certificate, OfTheAuthoritySignsCertificatesAndNoAuthorities) {
  const std::string text = shown(authority().certificate_pem);

  EXPECT_THAT(text, testing::HasSubstr("CA:TRUE, pathlen:0"));
  EXPECT_THAT(text, testing::HasSubstr("Certificate Sign, CRL Sign"));
  EXPECT_THAT(text, testing::HasSubstr("NIST CURVE: P-256"));
}

TEST(Certificate, OfAServerNamesWhereItIsReached) {
  const auto spec = spec_of(Role::Controller, {"Ctl.example.", "10.0.0.7", "fd00::7", "localhost"});

  const std::string text = shown(issue(authority(), spec, request()).value());

  EXPECT_THAT(text, testing::HasSubstr("DNS:controller.holdfast, DNS:localhost, IP "
                                       "Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1, "
                                       "DNS:ctl.example, IP Address:10.0.0.7, IP "
                                       "Address:FD00:0:0:0:0:0:0:7\n"));
}

TEST(Certificate, TellsTheHostsItWasIssuedWith) {
  const auto of_server =
      issue(authority(), spec_of(Role::Proxy, {"edge.example", "10.0.0.7", "fd00::7"}), request());
  const auto of_agent = issue(authority(), spec_of(Role::Agent), request());

  EXPECT_THAT(hosts_of(of_server.value()).value(),
              testing::ElementsAre("edge.example", "10.0.0.7", "fd00::7"));
  EXPECT_THAT(hosts_of(of_agent.value()).value(), testing::IsEmpty());
  EXPECT_FALSE(hosts_of("nothing").ok());
}

TEST(Certificate, IsForOneKey) {
  const std::string key = make_private_key().value();
  const std::string made =
      issue(authority(), spec_of(Role::Agent), make_request(key).value()).value();

  EXPECT_TRUE(check_key(made, key).ok());
  EXPECT_EQ(check_key(made, make_private_key().value()).code(), StatusCode::kInvalidArgument);
  EXPECT_FALSE(check_key(made, "nothing").ok());
}

TEST(Certificate, NoHostMayBeOneOfOurServerNames) {
  const SigningKey key = authority();
  for (const std::string host :
       {"controller.holdfast", "Controller.HoldFast.", "x.holdfast", "holdfast", "*.example", "",
        "a b", "[::1]", "host:1", "a,DNS:b"}) {
    const auto refused = issue(key, spec_of(Role::Proxy, {host}), request());
    EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument) << host;
  }
  EXPECT_TRUE(issue(key, spec_of(Role::Proxy, {"myholdfast"}), request()).ok());
}

TEST(Certificate, HostsAreForServersAndLimited) {
  const SigningKey key = authority();
  const std::vector<std::string> many(65, "a.example");

  EXPECT_FALSE(issue(key, spec_of(Role::Agent, {"a.example"}), request()).ok());
  EXPECT_FALSE(issue(key, spec_of(Role::Proxy, many), request()).ok());
}

TEST(Certificate, IsCutToTheLifeOfItsAuthority) {
  const SigningKey key = make_authority("prod", {.not_before = kCertificateNow,
                                                 .not_after = kCertificateNow + hours(1)})
                             .value();
  CertificateSpec late = spec_of(Role::Agent);
  late.validity = {.not_before = kCertificateNow + hours(2),
                   .not_after = kCertificateNow + hours(3)};
  CertificateSpec early = spec_of(Role::Agent);
  early.validity.not_before = kCertificateNow - hours(1);

  const Validity cut = validity_of(issue(key, early, request()).value()).value();

  EXPECT_EQ(cut.not_before, kCertificateNow);
  EXPECT_EQ(cut.not_after, kCertificateNow + hours(1));
  EXPECT_EQ(issue(key, late, request()).status().code(), StatusCode::kFailedPrecondition);
}

TEST(Certificate, SerialNumbersAreNeverTheSame) {
  const SigningKey key = authority();
  const std::string one_request = request();
  std::set<std::string> seen;
  for (int i = 0; i < 64; ++i) {
    const std::string pem = issue(key, spec_of(Role::Agent), one_request).value();
    const auto certificate = ssl::read_certificate(pem).value();
    const ASN1_INTEGER* serial = X509_get0_serialNumber(certificate.get());
    EXPECT_LE(ASN1_STRING_length(serial), 16);
    seen.emplace(reinterpret_cast<const char*>(ASN1_STRING_get0_data(serial)),
                 ASN1_STRING_length(serial));
  }

  EXPECT_EQ(seen.size(), 64u);
}

TEST(Certificate, ALongNameIsCutInTheSubjectOnly) {
  CertificateSpec spec = spec_of(Role::Agent);
  spec.identity.name.assign(253, 'n');
  spec.identity.cluster.assign(253, 'c');

  const std::string pem = issue(authority(), spec, request()).value();

  EXPECT_EQ(identity_of(pem).value(), spec.identity);
}

TEST(Certificate, GoodKeysOfOtherKindsAreTaken) {
  const SigningKey key = authority();
  const CertificateSpec spec = spec_of(Role::Agent);

  EXPECT_TRUE(issue(key, spec, request_with(EVP_EC_gen("P-384"), EVP_sha384())).ok());
  EXPECT_TRUE(issue(key, spec, request_with(EVP_RSA_gen(2048), EVP_sha256())).ok());
  EXPECT_TRUE(
      issue(key, spec, request_with(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"), nullptr)).ok());
}

// P-256, but with the numbers of the curve instead of its name.
EVP_PKEY* key_with_explicit_curve() {
  const ssl::Owned<EVP_PKEY_CTX, EVP_PKEY_CTX_free> context(
      EVP_PKEY_CTX_new_from_name(nullptr, "EC", nullptr));
  EVP_PKEY_keygen_init(context.get());
  std::string group = "P-256";
  std::string encoding = "explicit";
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, group.data(), 0),
      OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_EC_ENCODING, encoding.data(), 0),
      OSSL_PARAM_construct_end()};
  EVP_PKEY_CTX_set_params(context.get(), parameters);
  EVP_PKEY* key = nullptr;
  EVP_PKEY_generate(context.get(), &key);
  return key;
}

TEST(Certificate, WeakAndStrangeKeysAreRefused) {
  const SigningKey key = authority();
  const std::string wrong[] = {
      request_with(EVP_RSA_gen(1024), EVP_sha256()),
      request_with(EVP_EC_gen("P-224"), EVP_sha256()),
      request_with(key_with_explicit_curve(), EVP_sha256()),
      request_with(EVP_EC_gen("secp256k1"), EVP_sha256()),
      request_with(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED448"), nullptr),
  };
  for (const std::string& pem : wrong) {
    ASSERT_THAT(pem, testing::HasSubstr("BEGIN CERTIFICATE REQUEST"));
    EXPECT_EQ(issue(key, spec_of(Role::Agent), pem).status().code(), StatusCode::kInvalidArgument);
  }
}

TEST(Certificate, ARequestSignedByAnotherKeyIsRefused) {
  const ssl::Key mine(EVP_EC_gen("P-256"));
  const ssl::Key other(EVP_EC_gen("P-256"));
  const ssl::Request forged(X509_REQ_new());
  X509_REQ_set_pubkey(forged.get(), mine.get());
  X509_REQ_sign(forged.get(), other.get(), EVP_sha256());
  const ssl::Bio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509_REQ(bio.get(), forged.get());

  const auto refused = issue(authority(), spec_of(Role::Agent), ssl::written(*bio));

  EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument);
}

TEST(Certificate, WhatIsNoRequestIsRefused) {
  const SigningKey key = authority();
  const std::string good = request();
  const std::string wrong[] = {
      "",
      "x",
      key.certificate_pem,
      key.private_key_pem,
      good.substr(0, good.size() / 2),
      std::string(20'000, 'A') + good,
      "-----BEGIN CERTIFICATE REQUEST-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n"
      "AAAA\n-----END CERTIFICATE REQUEST-----\n",
      "-----BEGIN CERTIFICATE REQUEST-----\n-----END CERTIFICATE REQUEST-----\n"};
  for (const std::string& pem : wrong) {
    EXPECT_EQ(issue(key, spec_of(Role::Agent), pem).status().code(), StatusCode::kInvalidArgument);
  }
}

TEST(Certificate, ADamagedAuthorityIsDataLoss) {
  const SigningKey one = authority();
  const SigningKey other = authority();
  const SigningKey mixed{one.certificate_pem, other.private_key_pem};

  EXPECT_EQ(issue(mixed, spec_of(Role::Agent), request()).status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(issue({}, spec_of(Role::Agent), request()).status().code(), StatusCode::kDataLoss);
}

TEST(Certificate, NoneIsIssuedForWhoCannotHaveOne) {
  EXPECT_EQ(issue(authority(), spec_of(Role::Local), request()).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(make_authority("no name", kYears).status().code(), StatusCode::kInvalidArgument);
}

TEST(Certificate, APinIsOfThePublicKeyAlone) {
  const SigningKey key = authority();
  const std::string same_key = request();
  const std::string one = issue(key, spec_of(Role::Agent), same_key).value();
  const std::string two = issue(key, spec_of(Role::Proxy), same_key).value();

  EXPECT_EQ(pin_of(one).value(), pin_of(two).value());
  EXPECT_NE(pin_of(one).value(), pin_of(key.certificate_pem).value());
  EXPECT_THAT(pin_of(one).value(), testing::StartsWith("sha256:"));
  EXPECT_EQ(pin_of(one).value().size(), 7u + 64);
}

TEST(Certificate, AChainIsSplitIntoItsCertificates) {
  const std::string one = authority().certificate_pem;
  const std::string two = authority().certificate_pem;

  EXPECT_THAT(split_chain("words before\n" + one + "\n" + two).value(),
              testing::ElementsAre(one, two));
  EXPECT_FALSE(split_chain("").ok());
  EXPECT_FALSE(split_chain(one + authority().private_key_pem).ok());
  EXPECT_FALSE(split_chain(one + "-----BEGIN CERTIFICATE-----\nAAAA\n").ok());
}

TEST(Certificate, NothingStaysInTheQueueOfErrors) {
  ERR_clear_error();

  EXPECT_FALSE(pin_of("x").ok());
  EXPECT_FALSE(make_request("x").ok());
  EXPECT_FALSE(split_chain("x").ok());
  EXPECT_FALSE(issue(authority(), spec_of(Role::Agent), "x").ok());
  EXPECT_FALSE(Trust().set("prod", "x").ok());

  EXPECT_EQ(ERR_peek_error(), 0u);
}

}  // namespace
}  // namespace holdfast::identity

// make_server(): what a webhook shows to an API server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/x509_vfy.h>

#include "identity/certificate.h"
#include "identity/openssl.h"

namespace holdfast::identity {
namespace {

constexpr WallTime kServerCertificateNow(std::chrono::milliseconds(1'700'000'000'000));
constexpr Validity kYear{.not_before = kServerCertificateNow,
                         .not_after = kServerCertificateNow + std::chrono::hours(24 * 365)};

SigningKey server_certificate_authority() {
  return make_authority("webhook", kYear).value();
}

TEST(ServerCertificate, FitsItsKeyNamesItsServerAndHasNoIdentity) {
  const SigningKey made = make_server(server_certificate_authority(),
                                      {"injector.holdfast-system.svc", "injector"}, kYear)
                              .value();

  EXPECT_TRUE(check_key(made.certificate_pem, made.private_key_pem).ok());
  EXPECT_EQ(validity_of(made.certificate_pem)->not_after, kYear.not_after);
  EXPECT_FALSE(identity_of(made.certificate_pem).ok());
  const auto certificate = ssl::read_certificate(made.certificate_pem).value();
  for (const char* name : {"injector.holdfast-system.svc", "injector"}) {
    EXPECT_EQ(X509_check_host(certificate.get(), name, 0, 0, nullptr), 1) << name;
  }
  EXPECT_EQ(X509_check_host(certificate.get(), "other", 0, 0, nullptr), 0);
  EXPECT_EQ(X509_check_purpose(certificate.get(), X509_PURPOSE_SSL_SERVER, 0), 1);
  EXPECT_EQ(X509_check_purpose(certificate.get(), X509_PURPOSE_SSL_CLIENT, 0), 0);
}

TEST(ServerCertificate, IsNoNodeOfAnyCluster) {
  const SigningKey signer = server_certificate_authority();
  const SigningKey made = make_server(signer, {"injector"}, kYear).value();
  Trust trust;
  ASSERT_TRUE(trust.set("webhook", signer.certificate_pem).ok());

  EXPECT_FALSE(
      trust.verify(made.certificate_pem, kServerCertificateNow + std::chrono::hours(1)).ok());
}

TEST(ServerCertificate, IsBelievedUnderItsNamesByThoseWhoTrustItsAuthority) {
  const SigningKey signer = server_certificate_authority();
  const SigningKey made = make_server(signer, {"injector.a.svc", "injector.b.svc"}, kYear).value();
  const ServerTrust trust{made.certificate_pem, signer.certificate_pem};
  const WallTime later = kServerCertificateNow + std::chrono::hours(1);

  EXPECT_TRUE(check_server(trust, "injector.b.svc", later).ok());
  const Status other = check_server(trust, "injector.c.svc", later);
  EXPECT_EQ(other.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(other.message(),
            "it is not for injector.c.svc; it is for injector.a.svc, injector.b.svc");
}

TEST(ServerCertificate, OfAnotherAuthorityOrTimeOrPurposeIsNotBelieved) {
  const SigningKey signer = server_certificate_authority();
  const SigningKey made = make_server(signer, {"injector"}, kYear).value();
  const ServerTrust trust{made.certificate_pem, signer.certificate_pem};
  const WallTime later = kServerCertificateNow + std::chrono::hours(1);

  EXPECT_TRUE(check_server(trust, "injector", later).ok());
  EXPECT_FALSE(check_server(trust, "injector", kYear.not_after + std::chrono::hours(1)).ok());
  EXPECT_FALSE(check_server(trust, "injector", kServerCertificateNow - std::chrono::hours(1)).ok());
  EXPECT_FALSE(check_server({made.certificate_pem, server_certificate_authority().certificate_pem},
                            "injector", later)
                   .ok());
  EXPECT_FALSE(check_server({"", signer.certificate_pem}, "injector", later).ok());
  EXPECT_FALSE(
      check_server({signer.certificate_pem, signer.certificate_pem}, "webhook", later).ok());
  // As its own authority, without any above it.
  EXPECT_TRUE(check_server({made.certificate_pem, made.certificate_pem}, "injector", later).ok());
}

TEST(ServerCertificate, OnlyDnsNamesAreNames) {
  for (const char* wrong :
       {"", "a b", "a,DNS:b", "10.0.0.1", "::1", "[::1]", "a:1", "a\n", "email:x"}) {
    EXPECT_EQ(make_server(server_certificate_authority(), {wrong}, kYear).status().code(),
              absl::StatusCode::kInvalidArgument)
        << wrong;
  }
  EXPECT_FALSE(make_server(server_certificate_authority(), {}, kYear).ok());
}

}  // namespace
}  // namespace holdfast::identity

// Trust of certificate.h, against certificates that we would never issue too.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/reason.h"
#include "identity/builder.h"
#include "identity/certificate.h"
#include "identity/openssl.h"

namespace holdfast::identity {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr WallTime kTrustNow(milliseconds(1'700'000'000'000));
constexpr Validity kTrustYears{.not_before = kTrustNow, .not_after = kTrustNow + hours(24 * 3650)};
constexpr Validity kTrustDay{.not_before = kTrustNow, .not_after = kTrustNow + hours(24)};
const Identity kTrustAgent{.role = Role::Agent, .cluster = "prod", .name = "edge-07", .zone = "a"};

std::string issued(const SigningKey& authority, const Identity& identity = kTrustAgent) {
  const std::string request = make_request(make_private_key().value()).value();
  return issue(authority, {.identity = identity, .hosts = {}, .validity = kTrustDay}, request)
      .value();
}

// A certificate with any extensions at all, signed by the authority.
struct Forged {
  const char* constraints = "critical,CA:FALSE";
  const char* usage = "critical,digitalSignature";
  const char* purpose = "clientAuth";
  const char* names = "URI:holdfast://prod/agent/edge-07";
};

struct Made {
  std::string pem;
  SigningKey key;
};

Made forge(const SigningKey& authority, const Forged& with) {
  const std::string key_pem = make_private_key().value();
  const ssl::Key key = ssl::read_private_key(key_pem).value();
  const ssl::Certificate issuer = ssl::read_certificate(authority.certificate_pem).value();
  const ssl::Key issuer_key = ssl::read_private_key(authority.private_key_pem).value();
  ssl::Builder builder = ssl::Builder::start(kTrustDay, *key).value();
  EXPECT_TRUE(builder.add_subject(NID_commonName, "x").ok());
  const auto add = [&](int nid, const char* value) {
    if (value != nullptr) EXPECT_TRUE(builder.add_extension(nid, value, *issuer).ok()) << value;
  };
  add(NID_basic_constraints, with.constraints);
  add(NID_key_usage, with.usage);
  add(NID_ext_key_usage, with.purpose);
  add(NID_subject_alt_name, with.names);
  add(NID_subject_key_identifier, "hash");
  add(NID_authority_key_identifier, "keyid:always");
  const std::string pem = builder.sign(*issuer, *issuer_key).value();
  return {pem, {pem, key_pem}};
}

struct Fixture : testing::Test {
  Fixture() { EXPECT_TRUE(trust.set("prod", authority.certificate_pem).ok()); }

  std::string code_of(const std::string& pem, WallTime now = kTrustNow) {
    const auto peer = trust.verify(pem, now);
    if (peer.ok()) return "";
    EXPECT_EQ(peer.status().code(), absl::StatusCode::kUnauthenticated);
    return std::string(split_reason(peer.status()).code);
  }

  SigningKey authority = make_authority("prod", kTrustYears).value();
  Trust trust;
};
using TrustTest = Fixture;

TEST_F(TrustTest, BelievesWhomTheAuthorityNames) {
  const Peer peer = trust.verify(issued(authority), kTrustNow).value();

  EXPECT_EQ(peer.identity, kTrustAgent);
  EXPECT_EQ(peer.expires, kTrustDay.not_after);
  EXPECT_EQ(peer.issuer_pin, pin_of(authority.certificate_pem).value());
}

TEST_F(TrustTest, BelievesAForgeryWithTheRightExtensions) {
  EXPECT_EQ(code_of(forge(authority, {}).pem), "");  // so that the refusals below mean something
}

TEST_F(TrustTest, ACertificateCountsWithinItsLifeOnly) {
  const std::string pem = issued(authority);
  const std::pair<WallTime, std::string_view> moments[] = {
      {kTrustNow - seconds(1), "HF5003"},          {kTrustNow, ""},
      {kTrustDay.not_after - milliseconds(1), ""}, {kTrustDay.not_after, "HF5003"},
      {kTrustNow + hours(24 * 36500), "HF5003"},
  };
  for (const auto& [now, code] : moments) {
    Trust fresh;
    ASSERT_TRUE(fresh.set("prod", authority.certificate_pem).ok());
    const auto answer = fresh.verify(pem, now);
    EXPECT_EQ(answer.ok() ? "" : split_reason(answer.status()).code, code) << to_rfc3339(now);
    EXPECT_EQ(code_of(pem), "");  // remembered from here on
    EXPECT_EQ(code_of(pem, now), code) << "remembered, " << to_rfc3339(now);
  }
}

TEST_F(TrustTest, AnotherAuthorityOfTheSameClusterIsRefused) {
  const SigningKey other = make_authority("prod", kTrustYears).value();

  EXPECT_EQ(code_of(issued(other)), "HF5004");
  EXPECT_EQ(code_of(issued(other) + authority.certificate_pem), "HF5004");
  EXPECT_EQ(code_of(issued(other) + other.certificate_pem), "HF5004");
}

TEST_F(TrustTest, AnotherClusterIsRefusedEvenIfTheAuthoritySignedIt) {
  Identity elsewhere = kTrustAgent;
  elsewhere.cluster = "test";

  EXPECT_EQ(code_of(issued(authority, elsewhere)), "HF5004");
}

TEST_F(TrustTest, CertificatesThatSignAreNobody) {
  EXPECT_EQ(code_of(authority.certificate_pem), "HF5004");
  EXPECT_EQ(code_of(forge(authority, {.constraints = "critical,CA:TRUE"}).pem), "HF5004");
  EXPECT_EQ(code_of(forge(authority, {.usage = "critical,digitalSignature,keyCertSign"}).pem),
            "HF5004");
}

TEST_F(TrustTest, NobodyBelowTheAuthorityCanSign) {
  const Made between = forge(authority, {.constraints = "critical,CA:TRUE",
                                         .usage = "critical,keyCertSign",
                                         .purpose = nullptr,
                                         .names = nullptr});
  const std::string agent = issued(authority);

  EXPECT_EQ(code_of(forge(between.key, {}).pem + between.pem), "HF5004");
  EXPECT_EQ(code_of(forge(forge(authority, {}).key, {}).pem + agent), "HF5004");
}

TEST_F(TrustTest, WrongPurposesAndNamesAreRefused) {
  const Forged wrong[] = {
      {.purpose = "serverAuth"},
      {.purpose = "codeSigning"},
      {.usage = "critical,keyEncipherment"},
      {.names = nullptr},
      {.names = "DNS:edge-07"},
      {.names = "URI:https://prod/agent/edge-07"},
      {.names = "URI:holdfast://prod/agent/edge-07,URI:holdfast://prod/controller/c"},
      {.names = "URI:holdfast://prod/agent/edge-07,URI:https://prod"},
      {.names = "URI:holdfast://prod/admin/edge-07"},
      {.names = "URI:holdfast://prod/local/x"},
      {.names = "email:holdfast://prod/agent/edge-07"},
  };
  for (const Forged& forged : wrong) {
    EXPECT_EQ(code_of(forge(authority, forged).pem), "HF5004")
        << (forged.names == nullptr ? "no names" : forged.names);
  }
}

TEST_F(TrustTest, WhatIsNoCertificateIsRefused) {
  const std::string good = issued(authority);
  EXPECT_EQ(code_of(""), "HF5004");
  EXPECT_EQ(code_of("x"), "HF5004");
  EXPECT_EQ(code_of(authority.private_key_pem), "HF5004");
  EXPECT_EQ(code_of(good.substr(0, 100)), "HF5004");
  EXPECT_EQ(code_of(good + std::string(64 * 1024, 'x')), "HF5004");
}

TEST_F(TrustTest, AChangedByteAnywhereIsRefused) {
  const std::string der = ssl::first_certificate_der(issued(authority)).value();
  for (size_t i = 0; i < der.size(); i += 7) {
    std::string changed = der;
    changed[i] = static_cast<char>(changed[i] ^ 0x04);
    const ssl::Certificate certificate = ssl::certificate_from_der(changed);
    if (certificate == nullptr) continue;  // no longer one at all
    EXPECT_EQ(code_of(ssl::to_pem(*certificate)), "HF5004") << "byte " << i;
  }
}

TEST_F(TrustTest, NothingIsBelievedBeforeItIsSet) {
  Trust empty;

  EXPECT_EQ(split_reason(empty.verify(issued(authority), kTrustNow).status()).code, "HF5004");
}

TEST_F(TrustTest, TwoAuthoritiesAreTrustedSideBySide) {
  const SigningKey next = make_authority("prod", kTrustYears).value();
  ASSERT_TRUE(trust.set("prod", authority.certificate_pem + next.certificate_pem).ok());

  const Peer of_old = trust.verify(issued(authority), kTrustNow).value();
  const Peer of_new = trust.verify(issued(next), kTrustNow).value();

  EXPECT_EQ(of_old.issuer_pin, pin_of(authority.certificate_pem).value());
  EXPECT_EQ(of_new.issuer_pin, pin_of(next.certificate_pem).value());
}

TEST_F(TrustTest, SettingForgetsWhatWasVerified) {
  const std::string pem = issued(authority);
  EXPECT_EQ(code_of(pem), "");
  EXPECT_EQ(code_of(pem), "");
  EXPECT_EQ(trust.cached(), 1u);

  ASSERT_TRUE(trust.set("prod", make_authority("prod", kTrustYears)->certificate_pem).ok());

  EXPECT_EQ(trust.cached(), 0u);
  EXPECT_EQ(code_of(pem), "HF5004");
}

TEST_F(TrustTest, WhatCannotBeTrustedChangesNothing) {
  const std::string pem = issued(authority);

  EXPECT_EQ(trust.set("prod", "").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(trust.set("prod", pem).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(trust.set("prod", authority.certificate_pem + pem).code(),
            absl::StatusCode::kInvalidArgument);

  EXPECT_EQ(code_of(pem), "");
}

TEST_F(TrustTest, RefusalsAreNotRemembered) {
  EXPECT_EQ(code_of(issued(make_authority("prod", kTrustYears).value())), "HF5004");

  EXPECT_EQ(trust.cached(), 0u);
}

TEST_F(TrustTest, AnExpiredAuthorityTakesItsCertificatesAlong) {
  const SigningKey brief = make_authority("prod", {kTrustNow, kTrustNow + hours(1)}).value();
  ASSERT_TRUE(trust.set("prod", brief.certificate_pem).ok());
  const std::string outlives = forge(brief, {}).pem;  // issue() would have cut it

  EXPECT_EQ(code_of(outlives, kTrustNow), "");
  EXPECT_EQ(code_of(outlives, kTrustNow + hours(2)), "HF5003");
}

TEST_F(TrustTest, ARefusalSaysNothingOfTheCertificate) {
  const auto refused = trust.verify(issued(make_authority("prod", kTrustYears).value()), kTrustNow);

  EXPECT_EQ(refused.status().message(), "HF5004: the certificate is not one of this cluster");
}

}  // namespace
}  // namespace holdfast::identity

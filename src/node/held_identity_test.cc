#include "node/held_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node/identity_fixture.h"

namespace holdfast::node {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(HeldIdentity, KnowsWhoItIsAndWhoSignedIt) {
  const TestCluster cluster;
  const Result<HeldIdentity> held = make_held(cluster.pems("edge-07"));

  ASSERT_TRUE(held.ok()) << held.status();
  EXPECT_EQ(identity::to_string(held->who), "agent/edge-07");
  EXPECT_EQ(held->issuer_pin, cluster.pin());
  EXPECT_THAT(held->trusted_pins, ElementsAre(cluster.pin()));
}

TEST(HeldIdentity, IsCutFromOneText) {
  const IdentityPems pems = TestCluster().pems("edge-07");

  const IdentityPems cut = split_identity(pems.private_key + pems.certificate);

  EXPECT_EQ(cut.private_key, pems.private_key);
  EXPECT_EQ(cut.certificate, pems.certificate);
  EXPECT_EQ(split_identity("nonsense").certificate, "");
}

TEST(HeldIdentity, OfAnotherKeyIsRefused) {
  const TestCluster cluster;
  IdentityPems pems = cluster.pems("edge-07");
  pems.private_key = identity::make_private_key().value();

  EXPECT_THAT(make_held(pems).status().ToString(), HasSubstr("another key"));
}

TEST(HeldIdentity, OfAUserIsRefused) {
  const TestCluster cluster;

  EXPECT_THAT(make_held(cluster.pems("ann", identity::Role::User)).status().ToString(),
              HasSubstr("user/ann's, not a node's"));
}

TEST(HeldIdentity, ATrustThatIsNoneChangesNothing) {
  const HeldIdentity held = make_held(TestCluster().pems("edge-07")).value();

  EXPECT_FALSE(with_bundle(held, "").ok());
  EXPECT_FALSE(with_bundle(held, "nonsense").ok());
  EXPECT_FALSE(with_bundle(held, held.certificate_pem).ok()) << "a node is no authority";
}

TEST(HeldIdentity, TrustGrowsAndShrinksAroundTheSameCertificate) {
  const TestCluster old_cluster;
  const TestCluster new_cluster;
  const HeldIdentity held = make_held(old_cluster.pems("edge-07")).value();

  const auto both = with_bundle(held, old_cluster.ca() + new_cluster.ca()).value();
  const auto only_new = with_bundle(both, new_cluster.ca()).value();

  EXPECT_THAT(both.trusted_pins, ElementsAre(old_cluster.pin(), new_cluster.pin()));
  EXPECT_EQ(both.issuer_pin, old_cluster.pin());
  EXPECT_EQ(only_new.issuer_pin, "") << "of an authority that is gone";
  EXPECT_EQ(only_new.certificate_pem, held.certificate_pem);
}

TEST(HeldIdentity, ACertificateForAnotherNodeIsRefused) {
  const TestCluster cluster;
  const HeldIdentity held = make_held(cluster.pems("edge-07")).value();

  EXPECT_TRUE(with_certificate(held, cluster.pems("edge-07")).ok());
  EXPECT_THAT(with_certificate(held, cluster.pems("edge-08")).status().ToString(),
              HasSubstr("agent/edge-08's, not agent/edge-07's"));
}

}  // namespace
}  // namespace holdfast::node

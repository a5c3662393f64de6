#include "tunnel/renewal.h"

#include <gtest/gtest.h>

namespace holdfast::tunnel {
namespace {

using namespace std::chrono_literals;

constexpr Duration kLead = 3h;
const WallTime kStart{std::chrono::hours(100'000)};

TEST(Renewal, ATunnelIsMadeAnewShortlyBeforeItsCertificateEndsIfThereIsANewerOne) {
  const TunnelLife life{kStart, kStart + 24h, kStart + 72h};
  const WallTime newer = kStart + 40h;
  EXPECT_FALSE(is_renewal_due(life, newer, kLead, kStart + 20h));
  EXPECT_TRUE(is_renewal_due(life, newer, kLead, kStart + 21h));
  EXPECT_FALSE(is_renewal_due(life, kStart + 24h, kLead, kStart + 23h)) << "nothing to gain";
}

TEST(Renewal, ATunnelIsMadeAnewBeforeTheProxysCertificateEndsButNotOverAndOver) {
  const TunnelLife life{kStart, kStart + 72h, kStart + 24h};
  EXPECT_FALSE(is_renewal_due(life, kStart + 72h, kLead, kStart + 20h));
  EXPECT_TRUE(is_renewal_due(life, kStart + 72h, kLead, kStart + 22h));
  const TunnelLife again{kStart + 22h, kStart + 72h, kStart + 24h};
  EXPECT_FALSE(is_renewal_due(again, kStart + 72h, kLead, kStart + 23h)) << "it has no other yet";
}

TEST(Renewal, WhatRunsOutlivesItsCertificateForTheGraceOnly) {
  EXPECT_EQ(standing_of(kStart, 1h, kStart - 1ms), Standing::Good);
  EXPECT_EQ(standing_of(kStart, 1h, kStart), Standing::Expired);
  EXPECT_EQ(standing_of(kStart, 1h, kStart + 1h - 1ms), Standing::Expired);
  EXPECT_EQ(standing_of(kStart, 1h, kStart + 1h), Standing::Over);
}

TEST(Renewal, AFleetOfTheSameHourIsSpreadOverHalfTheLead) {
  EXPECT_EQ(renewal_lead(24h, 0), 3h);
  EXPECT_EQ(renewal_lead(24h, 1), 90min);
  EXPECT_EQ(renewal_lead(24h, 7), 90min);
}

}  // namespace
}  // namespace holdfast::tunnel

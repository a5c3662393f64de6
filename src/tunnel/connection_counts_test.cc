#include "tunnel/connection_counts.h"

#include <gtest/gtest.h>

namespace holdfast::tunnel {
namespace {

using route::Ended;

AskedFor web(uint32_t port = 80) {
  return {.service = "web", .address = "10.0.0.1", .port = port, .protocol = "tcp"};
}

TEST(ConnectionCounts, APortAndAZoneHaveARowOfTheirOwn) {
  ConnectionCounts counts(10);
  ConnectionRow* row = counts.hold(web(), "a");
  EXPECT_EQ(counts.hold(web(), "a"), row);
  EXPECT_NE(counts.hold(web(), "b"), row);
  EXPECT_NE(counts.hold(web(443), "a"), row);

  EXPECT_EQ(counts.rows().size(), 3U);
  EXPECT_EQ(row->held, 2U);
  EXPECT_EQ(row->address, "10.0.0.1");
}

TEST(ConnectionCounts, WhateverItsEndItIsClosedAndOnlyWhatWentWrongHasFailed) {
  ConnectionCounts counts(10);
  ConnectionRow& row = *counts.hold(web(), "a");
  row.opened = 4;

  ConnectionCounts::ended(row, Ended::Closed);
  ConnectionCounts::ended(row, Ended::Cut);
  ConnectionCounts::ended(row, Ended::Refused);

  EXPECT_EQ(row.closed, 3U);
  EXPECT_EQ(row.active(), 1U);
  EXPECT_EQ(row.failed, (route::FailedCounts{.refused = 1, .cut = 1}));
}

TEST(ConnectionCounts, BeyondTheLimitConnectionsHaveNoRowAndThatIsCounted) {
  ConnectionCounts counts(1);
  EXPECT_NE(counts.hold(web(), "a"), nullptr);
  EXPECT_EQ(counts.hold(web(), "b"), nullptr);

  EXPECT_EQ(counts.left_out(), 1U);
}

TEST(ConnectionCounts, ARowOfAServiceThatIsGoneStaysWhileAConnectionHoldsIt) {
  ConnectionCounts counts(10);
  ConnectionRow& row = *counts.hold(web(), "a");
  const auto gone = [](const std::string&) { return false; };

  counts.forget_unless(gone);
  EXPECT_EQ(counts.rows().size(), 1U);

  ConnectionCounts::let_go(row);
  counts.forget_unless([](const std::string& service) { return service == "web"; });
  EXPECT_EQ(counts.rows().size(), 1U);
  counts.forget_unless(gone);
  EXPECT_TRUE(counts.rows().empty());
}

}  // namespace
}  // namespace holdfast::tunnel

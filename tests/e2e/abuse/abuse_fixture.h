// A controller under abuse: what every test of it asks afterwards. The controller runs, others are
// served, and its counters show what happened.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "e2e/api_client.h"
#include "e2e/cluster_process.h"
#include "support/test_certificate.h"

namespace holdfast::test {

class Abuse : public testing::Test {
 protected:
  explicit Abuse(Arguments arguments = without_rate_limit()) : controller_(std::move(arguments)) {}

  // Over new connections: a write seen by a watch over gRPC, a read over HTTPS; each within a
  // second.
  void expect_others_are_served();
  // The value of a sample of /metrics, as `name{label="x"}`; 0 if there is none.
  double metric(const std::string& sample) const;
  // Whether it grows by `least` over `before` within fifteen seconds or so.
  testing::AssertionResult grows(const std::string& sample, double before, double least = 1) const;
  // The admin's certificate, for HTTPS.
  TestCertificate admin_certificate() const;

  ClusterProcess controller_;
};

}  // namespace holdfast::test

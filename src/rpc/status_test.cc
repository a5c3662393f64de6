#include "rpc/status.h"

#include <gtest/gtest.h>

namespace holdfast::rpc {
namespace {

TEST(Status, EveryCodeSurvivesTheWayThereAndBack) {
  for (int code = 0; code <= 16; ++code) {
    const Status status(static_cast<absl::StatusCode>(code), code == 0 ? "" : "why");

    EXPECT_EQ(from_grpc(to_grpc(status)), status);
  }
}

TEST(Status, AForeignCodeIsUnknown) {
  const grpc::Status foreign(static_cast<grpc::StatusCode>(20), "odd");

  EXPECT_EQ(from_grpc(foreign), absl::UnknownError("odd"));
}

}  // namespace
}  // namespace holdfast::rpc

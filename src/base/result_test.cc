#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace holdfast {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return absl::InvalidArgumentError("odd");
  return number / 2;
}

Result<int> quarter(int number) {
  TRY(const int first, half(number));
  TRY(const int second, half(first));
  return second;
}

Status both_even(int a, int b) {
  TRY_OK(half(a).status());
  TRY_OK(half(b).status());
  return absl::OkStatus();
}

TEST(Result, TryHandsOnTheValue) {
  EXPECT_EQ(*quarter(12), 3);
}

TEST(Result, TryReturnsTheFirstFailure) {
  EXPECT_EQ(quarter(6).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Result, TryOkReturnsTheFailureAndPassesSuccess) {
  EXPECT_TRUE(both_even(2, 4).ok());
  EXPECT_FALSE(both_even(2, 5).ok());
}

TEST(Result, TryMovesWhatCannotBeCopied) {
  const auto make = []() -> Result<std::unique_ptr<int>> { return std::make_unique<int>(7); };
  const auto use = [&]() -> Result<int> {
    TRY(std::unique_ptr<int> owned, make());
    return *owned;
  };

  EXPECT_EQ(*use(), 7);
}

TEST(Result, AnnotateKeepsTheCodeAndLeadsTheMessage) {
  const Status status = annotate(absl::UnavailableError("refused"), "dialling edge-3");

  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(status.message(), "dialling edge-3: refused");
  EXPECT_TRUE(annotate(absl::OkStatus(), "anything").ok());
}

}  // namespace
}  // namespace holdfast

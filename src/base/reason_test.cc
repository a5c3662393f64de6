#include "base/reason.h"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

TEST(Reason, ACodeTravelsInTheMessage) {
  const Status status = coded(absl::StatusCode::kUnauthenticated, "HF5003", "it has expired");

  const Reason reason = split_reason(status);

  EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(reason.code, "HF5003");
  EXPECT_EQ(reason.message, "it has expired");
}

TEST(Reason, AMessageWithoutACodeStaysAsItIs) {
  for (const std::string_view message :
       {"", "HF", "HF500: x", "HF50x3: y", "HF5003 z", "HF5003:", "no such thing"}) {
    EXPECT_EQ(split_reason(message).code, "") << message;
    EXPECT_EQ(split_reason(message).message, message);
  }
}

}  // namespace
}  // namespace holdfast

#include "rpc/epoch.h"

#include <gtest/gtest.h>

#include "base/reason.h"

namespace holdfast::rpc {
namespace {

Metadata with(const char* key, const char* value) {
  return {{key, value}};
}

TEST(Epoch, IsReadFromTheMetadataAndZeroIfItIsNoNumber) {
  EXPECT_EQ(epoch_in(with("holdfast-epoch", "7")), 7u);
  EXPECT_EQ(epoch_in(with("holdfast-epoch", "18446744073709551615")), UINT64_MAX);
  for (const char* wrong : {"", "-1", "7 ", "seven", "18446744073709551616", "0x7"}) {
    EXPECT_EQ(epoch_in(with("holdfast-epoch", wrong)), 0u) << wrong;
  }
  EXPECT_EQ(epoch_in({}), 0u);
}

TEST(Epoch, AnActiveHalfIsNamedByHostAndPortOnly) {
  EXPECT_EQ(active_in(with("holdfast-active", "10.0.0.2:7443")), "10.0.0.2:7443");
  EXPECT_EQ(active_in(with("holdfast-active", "[fd00::2]:7443")), "[fd00::2]:7443");
  EXPECT_EQ(active_in(with("holdfast-active", "b.example:1")), "b.example:1");
  const std::string long_name(300, 'a');
  for (const std::string& wrong :
       {std::string("unix:/run/x"), std::string("unix:7"), std::string(":7443"),
        std::string("b.example"), std::string("b.example:0"), std::string("b.example:65536"),
        std::string("dns:///b:1"), long_name + ":1"}) {
    EXPECT_EQ(active_in(with("holdfast-active", wrong.c_str())), "") << wrong;
  }
}

TEST(Epoch, ABeatIsOneThatSomebodyWouldPromise) {
  EXPECT_EQ(beat_in(with("holdfast-beat-ms", "900")), std::chrono::milliseconds(900));
  for (const char* wrong : {"0", "1", "100000000", "x"}) {
    EXPECT_EQ(beat_in(with("holdfast-beat-ms", wrong)), Duration::zero()) << wrong;
  }
}

TEST(Epoch, OnlyARefusalOfThePairSaysThatAHalfDoesNotServe) {
  using absl::StatusCode;
  EXPECT_TRUE(is_not_active(coded(StatusCode::kUnavailable, "HF4101", "passive")));
  EXPECT_TRUE(is_not_active(coded(StatusCode::kUnavailable, "HF4105", "nobody is active")));
  EXPECT_TRUE(is_not_active(coded(StatusCode::kUnavailable, "HF4301", "a higher epoch")));
  EXPECT_FALSE(is_not_active(coded(StatusCode::kUnavailable, "HF1101", "the store")));
  EXPECT_FALSE(is_not_active(coded(StatusCode::kFailedPrecondition, "HF4104", "not in sync")));
  EXPECT_FALSE(is_not_active(coded(StatusCode::kUnavailable, "HF4109", "not in sync")))
      << "the active half says so";
  EXPECT_FALSE(is_not_active(absl::UnavailableError("gone")));
}

}  // namespace
}  // namespace holdfast::rpc

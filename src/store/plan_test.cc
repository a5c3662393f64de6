#include "store/plan.h"

#include <gtest/gtest.h>

#include <map>

namespace holdfast::store {
namespace {

using Type = Operation::Type;

Result<std::vector<Change>> plan_over(const std::map<std::string, KeyState>& present,
                                      std::vector<Operation> operations) {
  return plan(std::move(operations), 9,
              [&](const std::string& key) -> Result<std::optional<KeyState>> {
                const auto found = present.find(key);
                if (found == present.end()) return std::optional<KeyState>();
                return found->second;
              });
}

Operation operation(Type type, Precondition precondition, Revision revision = 0) {
  return {.type = type,
          .key = "/k",
          .value = "new",
          .expires = {},
          .precondition = precondition,
          .revision = revision};
}

TEST(Plan, PutKeepsTheCreationOfWhatWasThere) {
  const auto changes = plan_over({{"/k", {4, 2}}}, {operation(Type::Put, Precondition::None)});

  ASSERT_TRUE(changes.ok());
  EXPECT_EQ(changes->front().item.revision, 9);
  EXPECT_EQ(changes->front().item.created_revision, 2);
}

TEST(Plan, EveryPreconditionFailsWithItsOwnCode) {
  const std::map<std::string, KeyState> present = {{"/k", {4, 2}}};
  struct Case {
    std::map<std::string, KeyState> state;
    Precondition precondition;
    Revision revision;
    absl::StatusCode code;
  };
  const std::vector<Case> cases = {
      {present, Precondition::Absent, 0, absl::StatusCode::kAlreadyExists},
      {{}, Precondition::Absent, 0, absl::StatusCode::kOk},
      {{}, Precondition::Present, 0, absl::StatusCode::kNotFound},
      {present, Precondition::Present, 0, absl::StatusCode::kOk},
      {{}, Precondition::Revision, 4, absl::StatusCode::kNotFound},
      {present, Precondition::Revision, 3, absl::StatusCode::kAborted},
      {present, Precondition::Revision, 4, absl::StatusCode::kOk},
  };

  for (const Case& one : cases) {
    const auto changes =
        plan_over(one.state, {operation(Type::Put, one.precondition, one.revision)});
    EXPECT_EQ(changes.status().code(), one.code);
    if (!changes.ok()) EXPECT_NE(changes.status().message().find("/k"), std::string::npos);
  }
}

TEST(Plan, DeletingWhatIsAbsentChangesNothing) {
  const auto changes = plan_over({}, {operation(Type::Delete, Precondition::None)});

  ASSERT_TRUE(changes.ok());
  EXPECT_TRUE(changes->empty());
}

TEST(Plan, CheckOnlyChecks) {
  EXPECT_TRUE(
      plan_over({{"/k", {4, 2}}}, {operation(Type::Check, Precondition::Present)})->empty());
  EXPECT_FALSE(plan_over({}, {operation(Type::Check, Precondition::Present)}).ok());
}

TEST(Plan, HandsOnALookupThatFails) {
  const auto changes = plan({operation(Type::Put, Precondition::None)}, 1, [](const std::string&) {
    return Result<std::optional<KeyState>>(absl::UnavailableError("disk"));
  });

  EXPECT_EQ(changes.status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace holdfast::store

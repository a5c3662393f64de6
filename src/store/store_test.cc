#include "store/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::store {
namespace {

using testing::HasSubstr;

TEST(PrefixRange, EndsAtTheNextKeyThatLacksThePrefix) {
  const KeyRange range = prefix_range("/agent/");

  EXPECT_EQ(range, (KeyRange{"/agent/", "/agent0"}));
  EXPECT_TRUE(range.contains("/agent/"));
  EXPECT_TRUE(range.contains("/agent/\xff\xff"));
  EXPECT_FALSE(range.contains("/agent"));
  EXPECT_FALSE(range.contains("/agent0"));
}

TEST(PrefixRange, DropsBytesThatHaveNoHigherOne) {
  EXPECT_EQ(prefix_range("a\xff\xff"), (KeyRange{"a\xff\xff", "b"}));
  EXPECT_EQ(prefix_range("\x7f"), (KeyRange{"\x7f", "\x80"}));
}

TEST(PrefixRange, HasNoUpperBoundWhenNoByteCanBeRaised) {
  EXPECT_EQ(prefix_range(""), (KeyRange{"", ""}));
  EXPECT_EQ(prefix_range("\xff\xff"), (KeyRange{"\xff\xff", ""}));
}

Operation store_put(std::string key, std::string value = "") {
  Operation operation;
  operation.key = std::move(key);
  operation.value = std::move(value);
  return operation;
}

Status check(std::vector<Operation> operations) {
  return validate(operations, {.max_key_bytes = 4, .max_value_bytes = 3, .max_operations = 2});
}

TEST(Validate, AcceptsACommitAtItsLimits) {
  EXPECT_TRUE(check({store_put("abcd", "123"), store_put("b")}).ok());
}

TEST(Validate, NamesTheOperationThatBreaksALimit) {
  const Status long_key = check({store_put("ok"), store_put("abcde")});
  const Status long_value = check({store_put("ok", "1234")});

  EXPECT_EQ(long_key.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(long_key.message()), HasSubstr("operation 1 on \"abcde\""));
  EXPECT_EQ(long_value.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(long_value.message()), HasSubstr("operation 0 on \"ok\""));
}

TEST(Validate, RefusesEmptyCommitsAndTooManyOperations) {
  EXPECT_EQ(check({}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(check({store_put("a"), store_put("b"), store_put("c")}).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(Validate, RefusesKeysThatAreEmptyOrHoldNul) {
  EXPECT_EQ(check({store_put("")}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(check({store_put(std::string("a\0b", 3))}).code(), absl::StatusCode::kInvalidArgument);
}

TEST(Validate, NamesTheKeyThatComesTwice) {
  Operation erase = store_put("a");
  erase.type = Operation::Type::Delete;

  const Status twice = check({store_put("a"), erase});

  EXPECT_EQ(twice.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(twice.message()), HasSubstr("operation 1 on \"a\""));
}

}  // namespace
}  // namespace holdfast::store

#include "identity/password.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::identity {
namespace {

constexpr ScryptCost kCheap{.log2_n = 4, .r = 8, .p = 1};
constexpr std::array<uint8_t, 16> kSalt = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

TEST(Password, IsVerifiedAgainstItsHash) {
  const std::string stored = hash_password("correct horse", kSalt, kCheap).value();

  EXPECT_TRUE(verify_password("correct horse", stored));
  EXPECT_FALSE(verify_password("correct horsf", stored));
  EXPECT_FALSE(verify_password("", stored));
  EXPECT_FALSE(verify_password("correct horse ", stored));
}

TEST(Password, TheDefaultCostIsThirtyTwoMegabytes) {
  const std::string stored = hash_password("correct horse", kSalt).value();

  EXPECT_THAT(stored, testing::StartsWith("$scrypt$ln=15,r=8,p=1$AQIDBAUGBwgJCgsMDQ4PEA$"));
  EXPECT_TRUE(verify_password("correct horse", stored));
}

// Made by Python's hashlib.scrypt, another implementation.
TEST(Password, AgreesWithAnotherImplementation) {
  EXPECT_EQ(
      hash_password("correct horse", kSalt, kCheap).value(),
      "$scrypt$ln=4,r=8,p=1$AQIDBAUGBwgJCgsMDQ4PEA$Z42tgknBRJQGejUSQ0fPOhbFgg6YLYrPvpA5SmKsdAs");
}

TEST(Password, MayHoldAnyBytes) {
  const std::string password("\0\xff\xfe password", 12);
  const std::string stored = hash_password(password, kSalt, kCheap).value();

  EXPECT_TRUE(verify_password(password, stored));
  EXPECT_FALSE(verify_password(std::string("\0\xff\xfd password", 12), stored));
}

TEST(Password, TheSaltMakesEqualPasswordsDiffer) {
  std::array<uint8_t, 16> other = kSalt;
  other[15] ^= 1;

  EXPECT_NE(hash_password("correct horse", kSalt, kCheap).value(),
            hash_password("correct horse", other, kCheap).value());
}

TEST(Password, HasALengthOfEightTo1024) {
  EXPECT_FALSE(check_password("1234567").ok());
  EXPECT_TRUE(check_password("12345678").ok());
  EXPECT_TRUE(check_password(std::string(1024, 'x')).ok());
  EXPECT_FALSE(check_password(std::string(1025, 'x')).ok());
  EXPECT_FALSE(hash_password("short", kSalt, kCheap).ok());
  EXPECT_EQ(check_password("hunter2").message().find("hunter2"), absl::string_view::npos);
}

TEST(Password, OfAUserWhoDoesNotExistIsWrong) {
  EXPECT_FALSE(verify_password("correct horse", ""));
}

TEST(Password, TextThatIsNotOneOfOursNeverVerifies) {
  const std::string good = hash_password("correct horse", kSalt, kCheap).value();
  const auto changed = [&](std::string_view from, std::string_view to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  const std::string wrong[] = {
      "x",
      "$scrypt$",
      good + "A",
      good + "=",
      good + "$",
      good.substr(0, good.size() - 1),
      changed("ln=4", "ln=04"),
      changed("ln=4", "ln=-4"),
      changed("ln=4", "ln=0"),
      changed("ln=4", "ln=17"),
      changed("ln=4", "ln=63"),
      changed("ln=4", "ln=99999999999"),
      changed("r=8", "r=0"),
      changed("r=8", "r=1073741824"),
      changed("p=1", "p=5"),
      changed("p=1", "p= 1"),
      changed("$AQ", "$A!"),
      changed("$scrypt", "$argon2"),
      changed("AQIDBAUGBwgJCgsMDQ4PEA", "AQIDBAUGBwgJCgsMDQ4PEB"),  // bits that mean nothing
  };
  for (const std::string& text : wrong) {
    EXPECT_FALSE(verify_password("correct horse", text)) << text;
    EXPECT_FALSE(parse_stored_password(text)) << text;
  }
}

TEST(Password, NoHashIsMadeThatCostsTooMuch) {
  EXPECT_FALSE(hash_password("correct horse", kSalt, {.log2_n = 17, .r = 8, .p = 1}).ok());
  EXPECT_FALSE(hash_password("correct horse", kSalt, {.log2_n = 0, .r = 8, .p = 1}).ok());
}

}  // namespace
}  // namespace holdfast::identity

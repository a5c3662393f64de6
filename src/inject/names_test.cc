#include "inject/names.h"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::inject {
namespace {

TEST(Names, AContainersIsALabel) {
  for (const char* good : {"a", "holdfast-sidecar", "0", "a--b"}) {
    EXPECT_TRUE(is_dns_label(good)) << good;
  }
  EXPECT_TRUE(is_dns_label(std::string(63, 'a')));
  for (const char* wrong : {"", "A", "a.b", "a b", "-a", "a-", "a_b", "\xc3\xa4"}) {
    EXPECT_FALSE(is_dns_label(wrong)) << wrong;
  }
  EXPECT_FALSE(is_dns_label(std::string(64, 'a')));
}

TEST(Names, ASecretsMayHaveDots) {
  for (const char* good : {"a", "injector.tls", "a.b-c.d"}) EXPECT_TRUE(is_dns_name(good)) << good;
  for (const char* wrong : {"", ".", "a.", ".a", "a..b", "a.-b", "A.b", "a/b"}) {
    EXPECT_FALSE(is_dns_name(wrong)) << wrong;
  }
  EXPECT_TRUE(is_dns_name(std::string(253, 'a')));
  EXPECT_FALSE(is_dns_name(std::string(254, 'a')));
}

TEST(Names, AnImageHasNoBlanksAndDoesNotBeginOrEndWithAMark) {
  for (const char* good : {"a", "reg.example:5000/a/b:1.2", "a@sha256:00ff", "A_b"}) {
    EXPECT_TRUE(is_image(good)) << good;
  }
  for (const char* wrong : {"", " ", "a b", "a:", "/a", ":1", "a\n", "a\"", "$x"}) {
    EXPECT_FALSE(is_image(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace holdfast::inject

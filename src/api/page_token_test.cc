#include "api/page_token.h"

#include <gtest/gtest.h>

namespace holdfast::api {
namespace {

TEST(PageToken, RoundTrips) {
  const PageToken token{.revision = 41, .last_name = "edge:7"};

  EXPECT_EQ(parse_page_token(to_text(token)), token);
}

TEST(PageToken, RefusesWhatItDidNotMake) {
  for (const std::string_view text :
       {"", "41", "41:", ":web", "-1:web", "x:web", "99999999999999999999:web", "007:web", "-0:web",
        "+1:web", " 1:web"}) {
    EXPECT_FALSE(parse_page_token(text)) << text;
  }
  EXPECT_FALSE(parse_page_token(std::string_view("1:a\0b", 5)));
}

}  // namespace
}  // namespace holdfast::api

#include "metrics/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::metrics {
namespace {

using ::testing::HasSubstr;

std::string complaint(Type type, std::string_view name) {
  return std::string(validate_name(type, name).message());
}

TEST(Names, AcceptsWhatPrometheusUsersExpect) {
  EXPECT_EQ(complaint(Type::Counter, "holdfast_opened_connections_total"), "");
  EXPECT_EQ(complaint(Type::Gauge, "holdfast_cache_age_seconds"), "");
  EXPECT_EQ(complaint(Type::Histogram, "holdfast_commit_duration_seconds"), "");
}

TEST(Names, TotalMeansCounterAndNothingElse) {
  EXPECT_THAT(complaint(Type::Counter, "holdfast_opened"), HasSubstr("end a counter's name"));
  EXPECT_THAT(complaint(Type::Gauge, "holdfast_opened_total"), HasSubstr("only a counter's"));
  EXPECT_THAT(complaint(Type::Histogram, "holdfast_opened_total"), HasSubstr("only a counter's"));
}

TEST(Names, PrefixAndSpellingAreFixed) {
  EXPECT_THAT(complaint(Type::Gauge, "open_tunnels"), HasSubstr("start it with holdfast_"));
  for (const std::string_view name : {"holdfast_Open", "holdfast_open-tunnels", "holdfast_",
                                      "holdfast_open__tunnels", "holdfast_\xc3\xa9"}) {
    EXPECT_THAT(complaint(Type::Gauge, name), HasSubstr("lower-case words")) << name;
  }
}

TEST(Names, UnitsAreBaseUnitsWhereverTheyStand) {
  EXPECT_THAT(complaint(Type::Gauge, "holdfast_delay_ms"), HasSubstr("in seconds, not ms"));
  EXPECT_THAT(complaint(Type::Counter, "holdfast_read_kb_total"), HasSubstr("in bytes, not kb"));
  EXPECT_THAT(complaint(Type::Gauge, "holdfast_used_percent"), HasSubstr("in ratio"));
  EXPECT_EQ(complaint(Type::Gauge, "holdfast_items"), "") << "a word that only ends like a unit";
}

TEST(Names, EndingsAHistogramAddsAreRefused) {
  EXPECT_THAT(complaint(Type::Histogram, "holdfast_size_bucket"), HasSubstr("_bucket"));
  EXPECT_THAT(complaint(Type::Gauge, "holdfast_open_count"), HasSubstr("_count"));
  EXPECT_THAT(complaint(Type::Gauge, "holdfast_open_sum"), HasSubstr("_sum"));
}

TEST(Names, LabelNamesAreWordsAndNotReserved) {
  EXPECT_TRUE(validate_label_name("src_zone").ok());
  for (const std::string_view name : {"", "Zone", "__name", "9th", "le", "quantile", "a b"}) {
    EXPECT_FALSE(validate_label_name(name).ok()) << name;
  }
}

TEST(Names, LabelValuesBecomeValidUtf8WithinTheirLimit) {
  EXPECT_EQ(printable_label_value("zone é €", 64), "zone é €");
  EXPECT_EQ(printable_label_value("a\xff\xc3z", 64), "a\xef\xbf\xbd\xef\xbf\xbdz");
  EXPECT_EQ(printable_label_value("abcdef", 3), "abc");
  EXPECT_EQ(printable_label_value("ab€", 4), "ab") << "never half a character";
  EXPECT_EQ(printable_label_value("ab€", 5), "ab€");
  EXPECT_EQ(printable_label_value("€€", 0), "");
}

}  // namespace
}  // namespace holdfast::metrics

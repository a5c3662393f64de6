#include "resource/scalar_text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/rng.h"
#include "holdfast/v1/resource.pb.h"

namespace holdfast::resource {
namespace {

TEST(WholeNumbers, AreExactOverTheirWholeRange) {
  EXPECT_EQ(parse_int<int64_t>("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(parse_int<int64_t>("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(parse_int<uint64_t>("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(parse_int<uint64_t>("9007199254740993"), 9007199254740993u);
  EXPECT_EQ(parse_int<uint32_t>("0"), 0u);
}

TEST(WholeNumbers, AreRefusedOutOfRange) {
  EXPECT_FALSE(parse_int<int64_t>("9223372036854775808"));
  EXPECT_FALSE(parse_int<int64_t>("-9223372036854775809"));
  EXPECT_FALSE(parse_int<uint64_t>("18446744073709551616"));
  EXPECT_FALSE(parse_int<uint64_t>("-1"));
  EXPECT_FALSE(parse_int<uint32_t>("4294967296"));
  EXPECT_FALSE(parse_int<uint64_t>(std::string(10'000, '9')));
}

TEST(WholeNumbers, AreDecimalDigitsAndNothingElse) {
  for (const char* bad : {"", "-", "+1", "1.0", "1.5", "1e3", "0x10", "0o7", "1_000", " 1", "1 ",
                          "010", "-01", "one", ".inf", "NaN", "--1", "1,000"}) {
    EXPECT_FALSE(parse_int<int64_t>(bad)) << bad;
  }
}

TEST(Durations, ReadWhatPeopleWrite) {
  const auto nanos = [](const char* text) {
    const auto duration = parse_duration(text);
    EXPECT_TRUE(duration) << text;
    return duration ? duration->seconds() * 1'000'000'000 + duration->nanos() : -1;
  };

  EXPECT_EQ(nanos("30s"), 30'000'000'000);
  EXPECT_EQ(nanos("5m"), 300'000'000'000);
  EXPECT_EQ(nanos("1h30m"), 5'400'000'000'000);
  EXPECT_EQ(nanos("250ms"), 250'000'000);
  EXPECT_EQ(nanos("1m1ms"), 60'001'000'000);
  EXPECT_EQ(nanos("7us3ns"), 7'003);
  EXPECT_EQ(nanos("2d"), 172'800'000'000'000);
  EXPECT_EQ(nanos("-5s"), -5'000'000'000);
  EXPECT_EQ(nanos("90s"), 90'000'000'000);
}

TEST(Durations, RefuseWhatCouldBeMisread) {
  for (const char* bad : {"", "-", "5", "s", "1.5s", "5 s", "5S", "1s1h", "1s1s", "1hm", "+5s",
                          "1y", "--5s", "99999999999999999999s", "999999999999999999h", "0x5s"}) {
    EXPECT_FALSE(parse_duration(bad)) << bad;
  }
}

TEST(Durations, ReadBackAsPrinted) {
  Rng rng(1);
  for (int i = 0; i < 2000; ++i) {
    google::protobuf::Duration duration;
    const int64_t sign = i % 2 == 0 ? 1 : -1;
    duration.set_seconds(sign * static_cast<int64_t>(rng.below(1ull << rng.below(38ull))));
    duration.set_nanos(
        static_cast<int32_t>(sign * static_cast<int64_t>(rng.below(1'000'000'000ull))));

    const std::string text = duration_text(duration);
    const auto again = parse_duration(text);

    ASSERT_TRUE(again) << text;
    EXPECT_EQ(again->SerializeAsString(), duration.SerializeAsString()) << text;
  }
  EXPECT_EQ(duration_text({}), "0s");
}

TEST(Times, ReadAnyOffsetAndPrintUtc) {
  const auto utc = [](const char* text) {
    const auto time = parse_timestamp(text);
    return time ? timestamp_text(*time) : time.error();
  };

  EXPECT_EQ(utc("2026-11-16T00:00:00Z"), "2026-11-16T00:00:00Z");
  EXPECT_EQ(utc("2026-11-16t02:00:00.5+02:00"), "2026-11-16T00:00:00.500Z");
  EXPECT_EQ(utc("2026-11-15T18:30:00.000001-05:30"), "2026-11-16T00:00:00.000001Z");
  EXPECT_EQ(utc("2024-02-29T23:59:59.123456789Z"), "2024-02-29T23:59:59.123456789Z");
  EXPECT_EQ(utc("0001-01-01T00:00:00Z"), "0001-01-01T00:00:00Z");
  EXPECT_EQ(utc("9999-12-31T23:59:59.999999999Z"), "9999-12-31T23:59:59.999999999Z");
}

TEST(Times, RefuseWhatIsNotOne) {
  for (const char* bad : {"",
                          "now",
                          "2026-11-16",
                          "2026-11-16 00:00:00Z",
                          "2026-11-16T00:00:00",
                          "2026-02-30T00:00:00Z",
                          "2025-02-29T00:00:00Z",
                          "2026-13-01T00:00:00Z",
                          "2026-00-01T00:00:00Z",
                          "2026-01-00T00:00:00Z",
                          "2026-11-16T24:00:00Z",
                          "2026-11-16T00:60:00Z",
                          "2026-11-16T00:00:60Z",
                          "2026-11-16T00:00:00.Z",
                          "2026-11-16T00:00:00.1234567890Z",
                          "2026-11-16T00:00:00+24:00",
                          "2026-11-16T00:00:00+0200",
                          "2026-11-16T00:00:00Zx",
                          "0000-01-01T00:00:00Z",
                          "0001-01-01T00:00:00+01:00",
                          "9999-12-31T23:59:59-01:00",
                          "-001-01-01T00:00:00Z",
                          "1700000000"}) {
    EXPECT_FALSE(parse_timestamp(bad)) << bad;
  }
}

TEST(Times, OnesThatDoNotExistArePrintedAsSuch) {
  google::protobuf::Timestamp time;
  time.set_seconds(INT64_MAX);
  time.set_nanos(-1);

  EXPECT_FALSE(is_valid(time));
  EXPECT_EQ(timestamp_text(time), "invalid(9223372036854775807s,-1ns)");
}

TEST(EnumWords, AreShortAndReadInEverySpelling) {
  const auto& strategy = *v1::TunnelStrategy_descriptor();

  EXPECT_EQ(enum_text(strategy, v1::TUNNEL_STRATEGY_AGENT_MESH), "agent_mesh");
  for (const char* spelling : {"agent_mesh", "agent-mesh", "TUNNEL_STRATEGY_AGENT_MESH", "1"}) {
    EXPECT_EQ(parse_enum(strategy, spelling), v1::TUNNEL_STRATEGY_AGENT_MESH) << spelling;
  }
  EXPECT_EQ(enum_words(*v1::Protocol_descriptor()), "tcp, udp, http or grpc");
}

TEST(EnumWords, OfANewerVersionAreNumbers) {
  EXPECT_EQ(enum_text(*v1::Protocol_descriptor(), 99), "99");
  EXPECT_EQ(parse_enum(*v1::Protocol_descriptor(), "99"), 99);
}

TEST(EnumWords, SuggestWhatWasMeant) {
  EXPECT_EQ(parse_enum(*v1::Protocol_descriptor(), "htpp").error(),
            "\"htpp\" is not one of its words; did you mean \"http\"?");
  EXPECT_EQ(parse_enum(*v1::Protocol_descriptor(), "carrier pigeon").error(),
            "\"carrier pigeon\" is not one of its words; use tcp, udp, http or grpc");
}

}  // namespace
}  // namespace holdfast::resource

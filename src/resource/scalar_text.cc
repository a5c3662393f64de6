#include "resource/scalar_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>

#include "base/bytes.h"
#include "resource/proto_time.h"

namespace holdfast::resource {
namespace {

using std::string_view;

constexpr int64_t kMaxDurationSeconds = 315'576'000'000;
constexpr int64_t kFirstSecond = -62'135'596'800;  // 0001-01-01T00:00:00Z
constexpr int64_t kLastSecond = 253'402'300'799;   // 9999-12-31T23:59:59Z

using Wide = __int128;

struct Unit {
  string_view name;
  int64_t nanos;
};
// From large to small; only "d" is read and never printed.
constexpr std::array<Unit, 7> kUnits = {{{"d", 86'400 * kNanosPerSecond},
                                         {"h", 3'600 * kNanosPerSecond},
                                         {"m", 60 * kNanosPerSecond},
                                         {"s", kNanosPerSecond},
                                         {"ms", 1'000'000},
                                         {"us", 1'000},
                                         {"ns", 1}}};

// Takes the digits `text` begins with.
string_view take_digits(string_view& text) {
  size_t length = 0;
  while (length < text.size() && is_digit(text[length])) ++length;
  const string_view digits = text.substr(0, length);
  text.remove_prefix(length);
  return digits;
}

// Exactly `count` digits as a number, taken from `text`.
std::optional<int> take_number(string_view& text, size_t count) {
  int value = 0;
  for (size_t i = 0; i < count; ++i) {
    if (i >= text.size() || !is_digit(text[i])) return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(count);
  return value;
}

bool take(string_view& text, string_view expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

// ".25" as nanoseconds; 0 if there is no fraction.
std::optional<int> take_fraction(string_view& text) {
  if (!take(text, ".")) return 0;
  const string_view digits = take_digits(text);
  if (digits.empty() || digits.size() > 9) return std::nullopt;
  int nanos = 0;
  for (size_t i = 0; i < 9; ++i) nanos = nanos * 10 + (i < digits.size() ? digits[i] - '0' : 0);
  return nanos;
}

// "Z" or "+02:00" as seconds east.
std::optional<int64_t> take_offset(string_view& text) {
  if (take(text, "Z") || take(text, "z")) return 0;
  const int sign = text.starts_with('-') ? -1 : 1;
  if (!take(text, "-") && !take(text, "+")) return std::nullopt;
  const auto hours = take_number(text, 2);
  if (!hours || *hours > 23 || !take(text, ":")) return std::nullopt;
  const auto minutes = take_number(text, 2);
  if (!minutes || *minutes > 59) return std::nullopt;
  return sign * (*hours * 3600 + *minutes * 60);
}

std::optional<int64_t> take_date(string_view& text) {
  const auto year = take_number(text, 4);
  if (!year || !take(text, "-")) return std::nullopt;
  const auto month = take_number(text, 2);
  if (!month || !take(text, "-")) return std::nullopt;
  const auto day = take_number(text, 2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return int64_t{std::chrono::sys_days(date).time_since_epoch().count()} * 86'400;
}

std::optional<int64_t> take_time_of_day(string_view& text) {
  const auto hour = take_number(text, 2);
  if (!hour || *hour > 23 || !take(text, ":")) return std::nullopt;
  const auto minute = take_number(text, 2);
  if (!minute || *minute > 59 || !take(text, ":")) return std::nullopt;
  const auto second = take_number(text, 2);
  if (!second || *second > 59) return std::nullopt;
  return *hour * 3600 + *minute * 60 + *second;
}

std::optional<google::protobuf::Timestamp> read_timestamp(string_view text) {
  const auto date = take_date(text);
  if (!date || (!take(text, "T") && !take(text, "t"))) return std::nullopt;
  const auto time_of_day = take_time_of_day(text);
  if (!time_of_day) return std::nullopt;
  const auto nanos = take_fraction(text);
  if (!nanos) return std::nullopt;
  const auto offset = take_offset(text);
  if (!offset || !text.empty()) return std::nullopt;
  google::protobuf::Timestamp out;
  out.set_seconds(*date + *time_of_day - *offset);
  out.set_nanos(*nanos);
  if (!is_valid(out)) return std::nullopt;
  return out;
}

// "30s" as nanoseconds, without a sign. `first_unit` is the index of the largest unit left.
std::optional<Wide> take_part(string_view& text, size_t& first_unit) {
  constexpr size_t kMaxDigits = 18;
  const string_view digits = take_digits(text);
  if (digits.empty() || digits.size() > kMaxDigits) return std::nullopt;
  Wide count = 0;
  for (const char digit : digits) count = count * 10 + (digit - '0');
  // From small to large, so that "ms" is not taken for "m".
  for (size_t i = kUnits.size(); i-- > first_unit;) {
    if (!take(text, kUnits[i].name)) continue;
    first_unit = i + 1;
    return count * kUnits[i].nanos;
  }
  return std::nullopt;
}

std::optional<google::protobuf::Duration> read_duration(string_view text) {
  const int sign = take(text, "-") ? -1 : 1;
  Wide total = 0;
  size_t first_unit = 0;
  do {
    const auto part = take_part(text, first_unit);
    if (!part) return std::nullopt;
    total += *part;
  } while (!text.empty());
  if (total > Wide{kMaxDurationSeconds} * kNanosPerSecond) return std::nullopt;
  google::protobuf::Duration out;
  out.set_seconds(static_cast<int64_t>(sign * (total / kNanosPerSecond)));
  out.set_nanos(static_cast<int32_t>(sign * (total % kNanosPerSecond)));
  return out;
}

}  // namespace

template <typename Int>
FromText<Int> parse_int(string_view text) {
  Int value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  const string_view digits = text.starts_with('-') ? text.substr(1) : text;
  const bool whole = !digits.empty() && std::ranges::all_of(digits, is_digit);
  if (!whole) {
    return std::unexpected(
        fmt::format("{} is not a whole number; write digits such as 8080", in_quotes(text)));
  }
  if (digits.size() > 1 && digits.front() == '0') {
    return std::unexpected(fmt::format("{} has a leading zero; write it without", in_quotes(text)));
  }
  // An unsigned number is not read past a '-'.
  if (error != std::errc() || stop != end) {
    return std::unexpected(fmt::format("{} is out of range; use {} to {}", in_quotes(text),
                                       std::numeric_limits<Int>::min(),
                                       std::numeric_limits<Int>::max()));
  }
  return value;
}

template FromText<int32_t> parse_int(string_view);
template FromText<int64_t> parse_int(string_view);
template FromText<uint32_t> parse_int(string_view);
template FromText<uint64_t> parse_int(string_view);

FromText<google::protobuf::Duration> parse_duration(string_view text) {
  if (const auto duration = read_duration(text)) return *duration;
  return std::unexpected(
      fmt::format("{} is not a duration; write one such as 30s, 1h30m or 250ms", in_quotes(text)));
}

std::string duration_text(const google::protobuf::Duration& duration) {
  Wide rest = Wide{duration.seconds()} * kNanosPerSecond + duration.nanos();
  if (rest == 0) return "0s";
  std::string out = rest < 0 ? "-" : "";
  if (rest < 0) rest = -rest;
  for (const Unit& unit : std::span(kUnits).subspan(1)) {
    const auto count = static_cast<uint64_t>(rest / unit.nanos);
    if (count > 0) out += fmt::format("{}{}", count, unit.name);
    rest %= unit.nanos;
  }
  return out;
}

bool is_valid(const google::protobuf::Duration& duration) {
  const int64_t seconds = duration.seconds();
  const int32_t nanos = duration.nanos();
  return seconds >= -kMaxDurationSeconds && seconds <= kMaxDurationSeconds &&
         nanos > -kNanosPerSecond && nanos < kNanosPerSecond && (seconds <= 0 || nanos >= 0) &&
         (seconds >= 0 || nanos <= 0);
}

FromText<google::protobuf::Timestamp> parse_timestamp(string_view text) {
  if (const auto time = read_timestamp(text)) return *time;
  return std::unexpected(
      fmt::format("{} is not a time; write one such as 2026-11-16T00:00:00Z", in_quotes(text)));
}

std::string timestamp_text(const google::protobuf::Timestamp& time) {
  if (!is_valid(time)) return fmt::format("invalid({}s,{}ns)", time.seconds(), time.nanos());
  const std::chrono::sys_seconds seconds{std::chrono::seconds(time.seconds())};
  const auto day = std::chrono::floor<std::chrono::days>(seconds);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(seconds - day);
  std::string out =
      fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                  clock.hours().count(), clock.minutes().count(), clock.seconds().count());
  const int nanos = time.nanos();
  if (nanos % 1'000 != 0) {
    out += fmt::format(".{:09}", nanos);
  } else if (nanos % 1'000'000 != 0) {
    out += fmt::format(".{:06}", nanos / 1'000);
  } else if (nanos != 0) {
    out += fmt::format(".{:03}", nanos / 1'000'000);
  }
  return out + "Z";
}

bool is_valid(const google::protobuf::Timestamp& time) {
  return time.seconds() >= kFirstSecond && time.seconds() <= kLastSecond && time.nanos() >= 0 &&
         time.nanos() < kNanosPerSecond;
}

}  // namespace holdfast::resource

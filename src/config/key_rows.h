// What the rows of the table of keys are written with: units, and where a value goes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "config/config.h"
#include "config/value.h"

namespace holdfast::config {

// Units of a range.
inline constexpr uint64_t kMillisecond = 1'000'000;
inline constexpr uint64_t kSecond = 1'000 * kMillisecond;
inline constexpr uint64_t kMinute = 60 * kSecond;
inline constexpr uint64_t kHour = 60 * kMinute;
inline constexpr uint64_t kDay = 24 * kHour;

// Of a Choice that goes into a bool.
inline constexpr std::array<std::string_view, 2> kNoYes = {"no", "yes"};

// Writes the value into the member that `Path` leads to: &Config::log, &LogConfig::level.
template <auto... Path>
void into(Config& config, const Value& value) {
  auto& member = (config.*....*Path);
  using Member = std::remove_cvref_t<decltype(member)>;
  if constexpr (std::is_same_v<Member, bool>) {
    member = std::get<Choice>(value).index == 1;  // of "no" and "yes"
  } else if constexpr (std::is_enum_v<Member>) {
    member = static_cast<Member>(std::get<Choice>(value).index);
  } else if constexpr (std::is_same_v<Member, std::string>) {
    const Choice* choice = std::get_if<Choice>(&value);
    member = choice != nullptr ? std::string(choice->word) : std::get<std::string>(value);
  } else {
    member = std::get<Member>(value);
  }
}

}  // namespace holdfast::config

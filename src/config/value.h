// One value of the configuration: read from the text or the YAML of any source, printed in the one
// form that reads back the same.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "config/check_config.h"
#include "config/service_config.h"
#include "resource/node.h"

namespace holdfast::config {

struct Key;

enum class Type : uint8_t {
  Text,
  List,      // of texts; in the environment and flags with commas between
  Count,     // a whole number
  Bytes,     // a whole number, or one with KiB, MiB or GiB
  Time,      // a duration
  Choice,    // one of a few words
  Policies,  // a service config: a mapping, or JSON as text
  Checks,    // checks by service: a mapping, or JSON as text
};

struct Choice {
  uint8_t index = 0;
  std::string_view word;  // of the table
};

using Value = std::variant<std::string, std::vector<std::string>, uint64_t, Duration, Choice,
                           v1::ServiceConfig, CheckConfigs>;

// What is wrong with a value, and where. Places within text that came from no file count from 1:1.
struct ValueError {
  resource::Position at;
  std::string message;
  int code = 6010;
  bool is_warning = false;
};

// A value, if it is good, and everything that is wrong with it. There may be warnings beside a
// value; without one there is at least one error.
struct ValueReading {
  Value value;
  std::vector<ValueError> problems;
  bool ok() const;
};

ValueReading read_value(const Key& key, const resource::Node& node);
// From the environment, a flag or a default.
ValueReading read_value(const Key& key, std::string_view text);

// As one would write it in the environment.
std::string value_text(const Key& key, const Value& value);

// "1m30s", exactly.
std::string duration_text(Duration duration);
// "64KiB"; the largest unit that leaves nothing over.
std::string bytes_text(uint64_t bytes);

}  // namespace holdfast::config

// Structured logging: a constant message and fields. `error` means someone must act; `warn`
// degraded; `info` state changes; `debug` the rest. Lines go to stderr: logfmt on a terminal, JSON
// otherwise. One of the two places with process-wide state (the other is metrics).
//
//   log::info("tunnel opened", {{"agent", id}, {"proxy", name}});
#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <string>
#include <string_view>

namespace holdfast::log {

enum class Level { Debug, Info, Warn, Error };
enum class Format { Logfmt, Json };

struct Field {
  template <typename T>
  Field(std::string_view field_name, const T& field_value)
      : name(field_name), value(fmt::format("{}", field_value)) {}
  std::string_view name;
  std::string value;
};
using Fields = std::initializer_list<Field>;

// Until called: info and above, in the format that suits stderr.
void configure(Level level, Format format);
// False for a word that names no level.
bool parse_level(std::string_view word, Level& level);

void debug(std::string_view message, Fields fields = {});
void info(std::string_view message, Fields fields = {});
void warn(std::string_view message, Fields fields = {});
void error(std::string_view message, Fields fields = {});

// One line without its time stamp; apart so that it can be tested.
std::string format_line(Format format, Level level, std::string_view message, Fields fields);

}  // namespace holdfast::log

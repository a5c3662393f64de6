#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <array>
#include <atomic>

#include "base/bytes.h"

namespace holdfast::log {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"debug", "info", "warn", "error"};

struct Sink {
  std::atomic<Format> format{isatty(STDERR_FILENO) != 0 ? Format::Logfmt : Format::Json};
  std::shared_ptr<spdlog::logger> logger = [] {  // tidy: shared, spdlog asks for it
    auto made = std::make_shared<spdlog::logger>("holdfast",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->flush_on(spdlog::level::trace);
    return made;
  }();
};

Sink& sink() {
  static Sink instance;
  return instance;
}

spdlog::level::level_enum to_spdlog(Level level) {
  constexpr std::array kLevels = {spdlog::level::debug, spdlog::level::info, spdlog::level::warn,
                                  spdlog::level::err};
  return kLevels.at(static_cast<size_t>(level));
}

void use_pattern(Format format) {
  const auto utc = spdlog::pattern_time_type::utc;
  if (format == Format::Json) {
    sink().logger->set_pattern("{\"ts\":\"%Y-%m-%dT%H:%M:%S.%eZ\",%v}", utc);
  } else {
    sink().logger->set_pattern("%H:%M:%S.%e %v", utc);
  }
}

// A JSON string, also used where logfmt needs quotes. Invalid UTF-8 becomes an escape in text.
std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if (character == '"' || character == '\\') {
      out += '\\';
      out += character;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\u{:04x}", byte);
    } else {
      out += character;
    }
  }
  return out + '"';
}

std::string printable(std::string_view text) {
  if (!first_invalid_utf8(text)) return std::string(text);
  std::string out;
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    out += byte < 0x80 ? std::string(1, character) : fmt::format("\\x{:02x}", byte);
  }
  return out;
}

void write(Level level, std::string_view message, Fields fields) {
  static const bool ready = (use_pattern(sink().format), true);
  (void)ready;
  if (!sink().logger->should_log(to_spdlog(level))) return;
  sink().logger->log(to_spdlog(level), "{}", format_line(sink().format, level, message, fields));
}

}  // namespace

void configure(Level level, Format format) {
  sink().format = format;
  use_pattern(format);
  sink().logger->set_level(to_spdlog(level));
}

bool parse_level(std::string_view word, Level& level) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (word != kNames[i]) continue;
    level = static_cast<Level>(i);
    return true;
  }
  return false;
}

std::string format_line(Format format, Level level, std::string_view message, Fields fields) {
  const std::string_view name = kNames.at(static_cast<size_t>(level));
  const bool json = format == Format::Json;
  std::string line =
      json ? fmt::format("\"level\":\"{}\",\"msg\":{}", name, json_string(printable(message)))
           : fmt::format("{:<5} {}", name, message);
  for (const Field& field : fields) {
    const std::string value = printable(field.value);
    const bool bare =
        !json && !value.empty() && value.find_first_of(" \"=\n\t\r") == std::string::npos;
    line += json ? fmt::format(",\"{}\":{}", field.name, json_string(value))
                 : fmt::format(" {}={}", field.name, bare ? value : json_string(value));
  }
  return line;
}

void debug(std::string_view message, Fields fields) {
  write(Level::Debug, message, fields);
}
void info(std::string_view message, Fields fields) {
  write(Level::Info, message, fields);
}
void warn(std::string_view message, Fields fields) {
  write(Level::Warn, message, fields);
}
void error(std::string_view message, Fields fields) {
  write(Level::Error, message, fields);
}

}  // namespace holdfast::log

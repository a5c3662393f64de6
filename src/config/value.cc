#include "config/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "config/keys.h"
#include "config/problem.h"
#include "resource/decode.h"
#include "resource/scalar_text.h"

namespace holdfast::config {
namespace {

using resource::Node;
using resource::Position;
using std::string_view;

constexpr size_t kMaxListItems = 64;
constexpr size_t kMaxValueBytes = 4096;
constexpr uint64_t kKibi = 1024;

struct Unit {
  string_view name;
  uint64_t bytes;
};
constexpr std::array<Unit, 4> kUnits = {
    {{"GiB", kKibi* kKibi* kKibi}, {"MiB", kKibi* kKibi}, {"KiB", kKibi}, {"B", 1}}};

using Problem = std::optional<std::string>;

ValueReading wrong(Position at, std::string message) {
  return {.value = {}, .problems = {{.at = at, .message = std::move(message)}}};
}

resource::FromText<uint64_t> parse_bytes(string_view text) {
  const string_view digits = text.substr(0, text.find_first_not_of("0123456789"));
  string_view rest = text.substr(digits.size());
  uint64_t unit = rest.empty() ? 1 : 0;
  for (const Unit& known : kUnits) {
    if (rest == known.name) unit = known.bytes;
  }
  const auto count = resource::parse_int<uint64_t>(digits);
  uint64_t total = 0;
  if (!count || unit == 0 || __builtin_mul_overflow(*count, unit, &total)) {
    return std::unexpected(fmt::format(
        "{} is not a size; write bytes, or one such as 64KiB, 4MiB or 1GiB", in_quotes(text)));
  }
  return total;
}

// Within the key's range, or what would be.
Problem out_of_range(const Key& key, uint64_t value, string_view text) {
  if (value >= key.range.min && value <= key.range.max) return std::nullopt;
  return fmt::format("{} is out of range; use {}", text, range_text(key));
}

Problem wrong_text(const Key& key, string_view text) {
  if (text.empty() && key.may_be_empty && key.type == Type::Text) return std::nullopt;
  if (text.empty()) return "is empty; give a value";
  if (text.size() > kMaxValueBytes) {
    return fmt::format("is {} bytes long; use at most {}", text.size(), kMaxValueBytes);
  }
  const bool control =
      std::ranges::any_of(text, [](char c) { return static_cast<uint8_t>(c) < 0x20 || c == 0x7f; });
  if (control || first_invalid_utf8(text)) {
    return fmt::format("{} holds what cannot be printed", in_quotes(text));
  }
  return key.rule != nullptr ? key.rule(text) : std::nullopt;
}

ValueReading read_list(const Key& key, const std::vector<Node>& items, Position at) {
  ValueReading out;
  std::vector<std::string> texts;
  if (items.empty() && !key.may_be_empty) return wrong(at, "is an empty list; name at least one");
  if (items.size() > kMaxListItems) {
    return wrong(at, fmt::format("has {} items; use at most {}", items.size(), kMaxListItems));
  }
  for (const Node& item : items) {
    const bool scalar = item.shape == Node::Shape::Scalar;
    Problem problem = scalar ? wrong_text(key, item.text) : resource::wrong_shape("text", item);
    if (!problem && std::ranges::find(texts, item.text) != texts.end()) {
      problem = fmt::format("{} is given twice; keep one", in_quotes(item.text));
    }
    if (problem) out.problems.push_back({.at = item.at, .message = *std::move(problem)});
    texts.push_back(item.text);
  }
  out.value = std::move(texts);
  return out;
}

ValueReading read_number(const Key& key, string_view text, Position at) {
  const auto number =
      key.type == Type::Bytes ? parse_bytes(text) : resource::parse_int<uint64_t>(text);
  const bool is_count = key.type != Type::Bytes;
  // The key's own limits, not those of the numbers that can be written.
  if (!number && is_count && number.error().contains("out of range")) {
    return wrong(at, fmt::format("{} is out of range; use {}", text, range_text(key)));
  }
  if (!number) return wrong(at, number.error());
  if (auto problem = out_of_range(key, *number, text)) return wrong(at, *std::move(problem));
  return {.value = *number, .problems = {}};
}

ValueReading read_time(const Key& key, string_view text, Position at) {
  const auto duration = resource::parse_duration(text);
  if (!duration) return wrong(at, duration.error());
  // Beyond this a Duration overflows; every range ends far below it.
  constexpr int64_t kMaxSeconds = int64_t{100} * 365 * 24 * 3600;
  const bool countable = duration->seconds() >= 0 && duration->nanos() >= 0;
  const int64_t seconds = std::min(duration->seconds(), kMaxSeconds);
  const Duration value =
      std::chrono::seconds(countable ? seconds : 0) + Duration(countable ? duration->nanos() : 0);
  auto problem = out_of_range(key, static_cast<uint64_t>(value.count()), text);
  if (!countable) problem = fmt::format("{} is negative; use {}", text, range_text(key));
  if (problem) return wrong(at, *std::move(problem));
  return {.value = value, .problems = {}};
}

ValueReading read_choice(const Key& key, string_view text, Position at) {
  const auto found = std::ranges::find(key.words, text);
  if (found != key.words.end()) {
    const auto index = static_cast<uint8_t>(found - key.words.begin());
    return {.value = Choice{.index = index, .word = *found}, .problems = {}};
  }
  const auto near = did_you_mean(text, key.words);
  const std::string hint =
      near ? fmt::format("did you mean \"{}\"?", *near) : "use " + range_text(key);
  return wrong(at, fmt::format("{} is not one of its words; {}", in_quotes(text), hint));
}

// What was read of a mapping or of JSON, and what is wrong with it.
struct TreeReading {
  Value value;
  std::vector<resource::ParseError> errors;
  std::vector<resource::ParseError> warnings;
};

// `shift` places what was found within a text that stands in a file.
ValueReading from_tree(TreeReading reading, const Position* shift) {
  ValueReading out;
  const auto take = [&](const std::vector<resource::ParseError>& errors, bool is_warning) {
    for (const resource::ParseError& error : errors) {
      std::string message =
          error.field.empty() ? error.message : error.field + ": " + error.message;
      const bool is_value = error.code == resource::ErrorCode::WrongValue;
      if (shift != nullptr) {
        message = fmt::format("JSON {}:{}: {}", error.at.line, error.at.column, message);
      }
      out.problems.push_back({.at = shift != nullptr ? *shift : error.at,
                              .message = std::move(message),
                              .code = is_value ? kBadValue : static_cast<int>(error.code),
                              .is_warning = is_warning});
    }
  };
  take(reading.errors, false);
  take(reading.warnings, true);
  out.value = std::move(reading.value);
  return out;
}

bool is_tree(const Key& key) {
  return key.type == Type::Policies || key.type == Type::Checks;
}

TreeReading read_tree(const Key& key, const Node& node) {
  if (key.type == Type::Checks) {
    CheckConfigsReading read = read_checks(node);
    return {.value = std::move(read.checks), .errors = std::move(read.errors), .warnings = {}};
  }
  ServiceConfigReading read = read_service_config(node);
  return {.value = std::move(read.config),
          .errors = std::move(read.errors),
          .warnings = std::move(read.warnings)};
}

TreeReading parse_tree(const Key& key, string_view json) {
  if (key.type == Type::Checks) {
    CheckConfigsReading read = parse_checks(json);
    return {.value = std::move(read.checks), .errors = std::move(read.errors), .warnings = {}};
  }
  ServiceConfigReading read = parse_service_config(json);
  return {.value = std::move(read.config),
          .errors = std::move(read.errors),
          .warnings = std::move(read.warnings)};
}

ValueReading read_scalar(const Key& key, string_view text, Position at) {
  switch (key.type) {
    case Type::Text:
      if (auto problem = wrong_text(key, text)) return wrong(at, *std::move(problem));
      return {.value = std::string(text), .problems = {}};
    case Type::Count:
    case Type::Bytes:
      return read_number(key, text, at);
    case Type::Time:
      return read_time(key, text, at);
    case Type::Choice:
      return read_choice(key, text, at);
    case Type::List:
    case Type::Policies:
    case Type::Checks:
      break;
  }
  return wrong(at, fmt::format("must be a {}", type_text(key.type)));
}

std::vector<Node> split(string_view text) {
  std::vector<Node> out;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    string_view item = text.substr(0, comma);
    item.remove_prefix(std::min(item.find_first_not_of(' '), item.size()));
    item = item.substr(0, item.find_last_not_of(' ') + 1);
    out.push_back(Node::scalar(std::string(item), true));
    text = comma == string_view::npos ? "" : text.substr(comma + 1);
  }
  return out;
}

}  // namespace

bool ValueReading::ok() const {
  return std::ranges::all_of(problems, &ValueError::is_warning);
}

ValueReading read_value(const Key& key, const Node& node) {
  const bool scalar = node.shape == Node::Shape::Scalar;
  if (is_tree(key)) {
    return scalar ? from_tree(parse_tree(key, node.text), &node.at)
                  : from_tree(read_tree(key, node), nullptr);
  }
  if (key.type == Type::List && node.shape == Node::Shape::Sequence) {
    return read_list(key, node.items, node.at);
  }
  // One word where a list is wanted is a list of it.
  if (key.type == Type::List && scalar) return read_list(key, {node}, node.at);
  if (!scalar) {
    const std::string expected = fmt::format("a {}", type_text(key.type));
    return wrong(node.at, resource::wrong_shape(expected.c_str(), node));
  }
  return read_scalar(key, node.text, node.at);
}

ValueReading read_value(const Key& key, string_view text) {
  if (is_tree(key)) return from_tree(parse_tree(key, text), nullptr);
  if (key.type == Type::List) return read_list(key, split(text), {});
  return read_scalar(key, text, {});
}

std::string value_text(const Key& key, const Value& value) {
  switch (key.type) {
    case Type::Text:
      return std::get<std::string>(value);
    case Type::List:
      return fmt::format("{}", fmt::join(std::get<std::vector<std::string>>(value), ","));
    case Type::Count:
      return fmt::format("{}", std::get<uint64_t>(value));
    case Type::Bytes:
      return bytes_text(std::get<uint64_t>(value));
    case Type::Time:
      return duration_text(std::get<Duration>(value));
    case Type::Choice:
      return std::string(std::get<Choice>(value).word);
    case Type::Policies:
      return service_config_json(std::get<v1::ServiceConfig>(value));
    case Type::Checks:
      return checks_json(std::get<CheckConfigs>(value));
  }
  return "";
}

std::string duration_text(Duration duration) {
  google::protobuf::Duration out;
  out.set_seconds(duration / std::chrono::seconds(1));
  out.set_nanos(static_cast<int32_t>((duration % std::chrono::seconds(1)).count()));
  return resource::duration_text(out);
}

std::string bytes_text(uint64_t bytes) {
  for (const Unit& unit : kUnits) {
    if (bytes >= unit.bytes && bytes % unit.bytes == 0 && unit.bytes > 1) {
      return fmt::format("{}{}", bytes / unit.bytes, unit.name);
    }
  }
  return fmt::format("{}", bytes);
}

}  // namespace holdfast::config

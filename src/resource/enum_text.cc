// Enum values as words, the part of scalar_text.h that needs the descriptor.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "resource/scalar_text.h"

namespace holdfast::resource {
namespace {

using google::protobuf::EnumDescriptor;
using std::string_view;

// "PROTOCOL_" from PROTOCOL_UNSPECIFIED, the value every type begins with.
string_view common_prefix(const EnumDescriptor& type) {
  string_view first = type.value(0)->name();
  constexpr string_view kUnspecified = "UNSPECIFIED";
  if (!first.ends_with(kUnspecified)) return "";
  first.remove_suffix(kUnspecified.size());
  return first;
}

std::string word(const EnumDescriptor& type, int index) {
  string_view name = type.value(index)->name();
  const string_view prefix = common_prefix(type);
  if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  std::string out;
  for (const char c : name) out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

std::string with_underscores(string_view text) {
  std::string out(text);
  std::ranges::replace(out, '-', '_');
  return out;
}

}  // namespace

std::string enum_text(const EnumDescriptor& type, int number) {
  const auto* value = type.FindValueByNumber(number);
  return value == nullptr ? fmt::format("{}", number) : word(type, value->index());
}

FromText<int> parse_enum(const EnumDescriptor& type, string_view text) {
  const std::string wanted = with_underscores(text);
  std::vector<std::string> words;
  for (int i = 0; i < type.value_count(); ++i) {
    words.push_back(word(type, i));
    if (words.back() == wanted || type.value(i)->name() == text) return type.value(i)->number();
  }
  if (const auto number = parse_int<int32_t>(text)) return *number;
  const std::vector<string_view> candidates(words.begin(), words.end());
  if (const auto near = did_you_mean(text, candidates)) {
    return std::unexpected(
        fmt::format("{} is not one of its words; did you mean \"{}\"?", in_quotes(text), *near));
  }
  return std::unexpected(
      fmt::format("{} is not one of its words; use {}", in_quotes(text), enum_words(type)));
}

std::string enum_words(const EnumDescriptor& type) {
  std::string out;
  for (int i = 1; i < type.value_count(); ++i) {
    out += i == 1 ? "" : i + 1 == type.value_count() ? " or " : ", ";
    out += word(type, i);
  }
  return out;
}

}  // namespace holdfast::resource

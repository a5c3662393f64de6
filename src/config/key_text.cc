// How a key is called and described.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "config/keys.h"

namespace holdfast::config {

using std::string_view;

const Key* find_key(string_view path) {
  const auto found = std::ranges::find(keys(), path, &Key::path);
  return found == keys().end() ? nullptr : &*found;
}

std::string environment_name(const Key& key) {
  if (key.only_in_file) return "";
  std::string out = "HOLDFAST_";
  for (const char c : key.path) {
    const bool lower = c >= 'a' && c <= 'z';
    out += c == '.' ? '_' : lower ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return out;
}

std::string default_text(const Key& key) {
  if (!key.machine_default.empty()) return std::string(key.machine_default);
  return key.fallback.empty() ? "none" : std::string(key.fallback);
}

std::string range_text(const Key& key) {
  if (key.type == Type::Choice) {
    std::string out;
    for (size_t i = 0; i < key.words.size(); ++i) {
      const char* between = i == 0 ? "" : i + 1 == key.words.size() ? " or " : ", ";
      out += fmt::format("{}{}", between, key.words[i]);
    }
    return out;
  }
  const bool has_range =
      key.type == Type::Count || key.type == Type::Bytes || key.type == Type::Time;
  if (!has_range) return "";
  const auto text = [&](uint64_t bound) {
    return key.type == Type::Time ? value_text(key, Duration(static_cast<int64_t>(bound)))
                                  : value_text(key, bound);
  };
  if (key.range.min == key.range.max) return text(key.range.min);
  return fmt::format("{} to {}", text(key.range.min), text(key.range.max));
}

string_view type_text(Type type) {
  switch (type) {
    case Type::Text:
      return "text";
    case Type::List:
      return "list of texts";
    case Type::Count:
      return "whole number";
    case Type::Bytes:
      return "size";
    case Type::Time:
      return "duration";
    case Type::Choice:
      return "word";
    case Type::Policies:
    case Type::Checks:
      return "mapping or JSON text";
  }
  return "";
}

}  // namespace holdfast::config

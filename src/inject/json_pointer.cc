#include "inject/json_pointer.h"

#include <fmt/format.h>

namespace holdfast::inject {

using std::string_view;

std::string child(string_view pointer, string_view key) {
  std::string out = fmt::format("{}/", pointer);
  for (const char c : key) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

std::string child(string_view pointer, size_t index) {
  return fmt::format("{}/{}", pointer, index);
}

std::vector<std::string> keys_of(string_view pointer) {
  std::vector<std::string> out;
  for (size_t at = 0; at < pointer.size(); ++at) {
    if (pointer[at] == '/') {
      out.emplace_back();
    } else if (out.empty()) {
      break;
    } else if (pointer[at] == '~' && at + 1 < pointer.size()) {
      out.back() += pointer[++at] == '1' ? '/' : '~';
    } else {
      out.back() += pointer[at];
    }
  }
  return out;
}

}  // namespace holdfast::inject

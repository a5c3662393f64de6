#include "inject/names.h"

#include <algorithm>

#include "base/bytes.h"

namespace holdfast::inject {
namespace {

using std::string_view;

constexpr size_t kMaxLabelBytes = 63;
constexpr size_t kMaxNameBytes = 253;
constexpr size_t kMaxImageBytes = 512;

bool is_lower(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool begins_and_ends_well(string_view text) {
  return !text.empty() && is_lower(text.front()) && is_lower(text.back());
}

}  // namespace

bool is_dns_label(string_view text) {
  return begins_and_ends_well(text) && text.size() <= kMaxLabelBytes &&
         std::ranges::all_of(text, [](char c) { return is_lower(c) || c == '-'; });
}

bool is_dns_name(string_view text) {
  if (text.size() > kMaxNameBytes) return false;
  for (;;) {
    const size_t dot = text.find('.');
    const string_view part = text.substr(0, dot);
    // Parts may be as long as the whole here.
    const bool good = begins_and_ends_well(part) &&
                      std::ranges::all_of(part, [](char c) { return is_lower(c) || c == '-'; });
    if (!good || dot == string_view::npos) return good;
    text.remove_prefix(dot + 1);
  }
}

bool is_image(string_view text) {
  static constexpr string_view kMarks = "._-/:@";
  return !text.empty() && text.size() <= kMaxImageBytes && is_letter_or_digit(text.front()) &&
         is_letter_or_digit(text.back()) && std::ranges::all_of(text, [](char c) {
           return is_letter_or_digit(c) || kMarks.contains(c);
         });
}

}  // namespace holdfast::inject

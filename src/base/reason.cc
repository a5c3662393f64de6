#include "base/reason.h"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast {

Status coded(absl::StatusCode status, std::string_view code, std::string_view message) {
  return Status(status, fmt::format("{}: {}", code, message));
}

Reason split_reason(std::string_view message) {
  constexpr size_t kCodeBytes = 6;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const bool has_code = message.size() >= kCodeBytes + 2 && message.starts_with("HF") &&
                        std::ranges::all_of(message.substr(2, 4), is_digit) &&
                        message.substr(kCodeBytes, 2) == ": ";
  if (!has_code) return {.code = {}, .message = message};
  return {.code = message.substr(0, kCodeBytes), .message = message.substr(kCodeBytes + 2)};
}

Reason split_reason(const Status& status) {
  return split_reason(std::string_view(status.message().data(), status.message().size()));
}

}  // namespace holdfast

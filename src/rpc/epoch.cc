#include "rpc/epoch.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "base/reason.h"

namespace holdfast::rpc {
namespace {

constexpr size_t kMaxAddressBytes = 262;  // a name, a colon and a port
constexpr uint64_t kLeastBeatMs = 50;
constexpr uint64_t kMostBeatMs = 60'000;

std::string_view find(const Metadata& metadata, const char* key) {
  const auto found = metadata.find(key);
  if (found == metadata.end()) return {};
  return {found->second.data(), found->second.size()};
}

uint64_t number(std::string_view text) {
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && at == end ? value : 0;
}

}  // namespace

uint64_t epoch_in(const Metadata& metadata) {
  return number(find(metadata, kEpochKey));
}

Duration beat_in(const Metadata& metadata) {
  const uint64_t interval = number(find(metadata, kBeatKey));
  if (interval < kLeastBeatMs || interval > kMostBeatMs) return Duration::zero();
  return std::chrono::milliseconds(interval);
}

std::string active_in(const Metadata& metadata) {
  const std::string_view address = find(metadata, kActiveKey);
  const size_t colon = address.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || address.size() > kMaxAddressBytes) return {};
  const uint64_t port = number(address.substr(colon + 1));
  const auto is_plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '-' || c == '_' || c == ':' || c == '[' || c == ']';
  };
  const bool plain = std::ranges::all_of(address, is_plain) && !address.starts_with("unix:");
  return plain && port > 0 && port <= 65535 ? std::string(address) : std::string();
}

bool is_not_active(const Status& answer) {
  if (answer.code() != absl::StatusCode::kUnavailable) return false;
  const std::string_view code = split_reason(answer).code;
  constexpr std::array<std::string_view, 5> kCodes = {"HF4101", "HF4105", "HF4107", "HF4108",
                                                      "HF4301"};
  return std::ranges::find(kCodes, code) != kCodes.end();
}

}  // namespace holdfast::rpc

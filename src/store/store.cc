#include "store/store.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"

namespace holdfast::store {
namespace {

Status invalid(size_t index, const Operation& operation, std::string_view why) {
  return absl::InvalidArgumentError(
      fmt::format("operation {} on {}: {}", index, in_quotes(operation.key), why));
}

Status validate_one(size_t index, const Operation& operation, const Limits& limits) {
  if (operation.key.empty()) return invalid(index, operation, "the key is empty");
  if (operation.key.find('\0') != std::string::npos) {
    return invalid(index, operation, "the key holds a NUL byte");
  }
  if (operation.key.size() > limits.max_key_bytes) {
    return invalid(index, operation,
                   fmt::format("the key has {} bytes, the limit is {}", operation.key.size(),
                               limits.max_key_bytes));
  }
  if (operation.value.size() > limits.max_value_bytes) {
    return invalid(index, operation,
                   fmt::format("the value has {} bytes, the limit is {}", operation.value.size(),
                               limits.max_value_bytes));
  }
  return absl::OkStatus();
}

}  // namespace

KeyRange prefix_range(std::string_view prefix) {
  KeyRange range{.begin = std::string(prefix), .end = std::string(prefix)};
  // The end is the prefix with its last byte one higher; a byte that has no higher one is dropped.
  while (!range.end.empty() && static_cast<unsigned char>(range.end.back()) == 0xff) {
    range.end.pop_back();
  }
  if (!range.end.empty()) {
    range.end.back() = static_cast<char>(static_cast<unsigned char>(range.end.back()) + 1);
  }
  return range;
}

Status validate(const std::vector<Operation>& operations, const Limits& limits) {
  if (operations.empty()) return absl::InvalidArgumentError("a commit without operations");
  if (operations.size() > limits.max_operations) {
    return absl::InvalidArgumentError(fmt::format("a commit of {} operations, the limit is {}",
                                                  operations.size(), limits.max_operations));
  }
  std::vector<std::pair<std::string_view, size_t>> keys;
  keys.reserve(operations.size());
  for (size_t i = 0; i < operations.size(); ++i) {
    TRY_OK(validate_one(i, operations[i], limits));
    keys.emplace_back(operations[i].key, i);
  }
  std::ranges::sort(keys);
  const auto same = std::ranges::adjacent_find(keys, {}, &decltype(keys)::value_type::first);
  if (same == keys.end()) return absl::OkStatus();
  const size_t second = std::next(same)->second;
  return invalid(second, operations[second], "the commit has two operations on this key");
}

}  // namespace holdfast::store

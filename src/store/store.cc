#include "store/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/bytes.h"

namespace holdfast::store {

KeyRange prefix_range(std::string_view prefix) {
  KeyRange range{.begin = std::string(prefix), .end = std::string(prefix)};
  while (!range.end.empty() && static_cast<unsigned char>(range.end.back()) == 0xff) {
    range.end.pop_back();
  }
  if (!range.end.empty()) range.end.back() = static_cast<char>(range.end.back() + 1);
  return range;
}

Status validate(const std::vector<Operation>& operations, const Limits& limits) {
  if (operations.empty()) return absl::InvalidArgumentError("a commit needs an operation");
  if (operations.size() > limits.max_operations) {
    return absl::InvalidArgumentError(fmt::format("{} operations in one commit; at most {}",
                                                  operations.size(), limits.max_operations));
  }
  std::set<std::string_view> keys;
  for (size_t i = 0; i < operations.size(); ++i) {
    const Operation& operation = operations[i];
    const auto refuse = [&](std::string_view why) {
      return absl::InvalidArgumentError(
          fmt::format("operation {} on key {}: {}", i, quoted(operation.key), why));
    };
    if (operation.key.empty()) return refuse("a key cannot be empty");
    if (operation.key.find('\0') != std::string::npos) return refuse("a key cannot hold NUL");
    if (operation.key.size() > limits.max_key_bytes) {
      return refuse(
          fmt::format("{} bytes of key; at most {}", operation.key.size(), limits.max_key_bytes));
    }
    if (operation.value.size() > limits.max_value_bytes) {
      return refuse(fmt::format("{} bytes of value; at most {}", operation.value.size(),
                                limits.max_value_bytes));
    }
    if (!keys.insert(operation.key).second) return refuse("a second operation on the same key");
  }
  return absl::OkStatus();
}

}  // namespace holdfast::store

#include "store/etcd_keys.h"

#include <fmt/format.h>

#include "base/bytes.h"

namespace holdfast::store {
namespace {

// The lowest byte a user's key can start with; NUL below it is for internal keys.
constexpr std::string_view kFirstUserByte("\x01", 1);
constexpr std::string_view kNul("\0", 1);
// A few fences serve any number of stores: sharing one costs a repeated try, nothing else.
constexpr uint64_t kFences = 64;

// etcd reads an end of one NUL byte as "no upper bound".
std::string etcd_end(std::string end) {
  return end.empty() ? std::string(kNul) : std::move(end);
}

}  // namespace

EtcdKeys::EtcdKeys(std::string_view prefix) : prefix_(prefix) {
  if (!prefix_.empty() && prefix_.back() != '/') prefix_ += '/';
}

Result<std::string> EtcdKeys::plain(std::string_view stored) const {
  if (!stored.starts_with(prefix_)) {
    return absl::DataLossError(
        fmt::format("etcd answered with key {} outside {}", in_quotes(stored), in_quotes(prefix_)));
  }
  return std::string(stored.substr(prefix_.size()));
}

KeyRange EtcdKeys::stored_range(const KeyRange& range) const {
  if (!range.end.empty() && range.end <= range.begin) {
    const std::string never_written = prefix_ + std::string(kNul) + "none";
    return {.begin = never_written, .end = never_written + std::string(kNul)};
  }
  const bool from_first = range.begin < kFirstUserByte;
  return {.begin = prefix_ + (from_first ? std::string(kFirstUserByte) : range.begin),
          .end = range.end.empty() ? whole().end : prefix_ + range.end};
}

KeyRange EtcdKeys::whole() const {
  KeyRange range = prefix_range(prefix_);
  if (range.begin.empty()) range.begin = std::string(kNul);
  range.end = etcd_end(std::move(range.end));
  return range;
}

std::string EtcdKeys::fence(uint64_t seed) const {
  return prefix_ + std::string(kNul) + fmt::format("fence/{}", seed % kFences);
}

}  // namespace holdfast::store

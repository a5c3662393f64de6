// How many items to ask for at once, so that an answer of any size stays within a message. Core.
#pragma once

#include <algorithm>
#include <cstddef>

namespace holdfast::store {

class EtcdPages {
 public:
  // As many items of the largest size as a message surely holds (etcd_client.cc).
  static constexpr size_t kSmallest = 32;
  static constexpr size_t kLargest = 4000;
  static constexpr size_t kTargetBytes = 4 << 20;

  // Items of the next page.
  size_t limit() const { return limit_; }
  // The next page is as large as items of this page's size allow.
  void on_page(size_t items, size_t bytes) {
    const size_t average = std::max<size_t>(1, bytes / std::max<size_t>(1, items));
    limit_ = std::clamp(kTargetBytes / average, kSmallest, kLargest);
  }
  // False if the page that was too large cannot be made smaller.
  bool on_too_large() { return std::exchange(limit_, kSmallest) > kSmallest; }

 private:
  size_t limit_ = kSmallest;
};

}  // namespace holdfast::store

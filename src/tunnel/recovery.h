// How long an agent has fewer tunnels than it wants after it lost one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace holdfast::tunnel {

class Recovery {
 public:
  // A tunnel was lost. Only the first loss counts until there are enough again.
  void lost(Time now) {
    if (!since_) since_ = now;
  }
  // How many there are and should be: how long it took if there are enough again, told once.
  std::optional<Duration> observe(size_t usable, size_t wanted, Time now);

  bool is_recovering() const { return since_.has_value(); }
  uint64_t count() const { return count_; }
  Duration last() const { return last_; }
  Duration sum() const { return sum_; }

 private:
  std::optional<Time> since_;
  uint64_t count_ = 0;
  Duration last_{0};
  Duration sum_{0};
};

}  // namespace holdfast::tunnel

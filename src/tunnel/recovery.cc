#include "tunnel/recovery.h"

namespace holdfast::tunnel {

std::optional<Duration> Recovery::observe(size_t usable, size_t wanted, Time now) {
  // With nothing known there is nothing to want: that is no recovery.
  if (!since_ || wanted == 0 || usable < wanted) return std::nullopt;
  last_ = now - *since_;
  since_.reset();
  sum_ += last_;
  ++count_;
  return last_;
}

}  // namespace holdfast::tunnel

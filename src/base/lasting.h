// A condition that ends only when it has been gone for a while: what is gone for a moment is not
// worth telling. It begins at once.
#pragma once

#include <optional>

#include "base/clock.h"

namespace holdfast {

class Lasting {
 public:
  explicit Lasting(Duration moment) : moment_(moment) {}

  // How it is now. Who does not look often learns late that it ended, never too early: its absence
  // counts from when it was first seen.
  void note(bool is_there, Time now) {
    if (is_there || !gone_since_) gone_since_ = is_there ? std::nullopt : std::optional(now);
    holds_ = is_there || (holds_ && now - *gone_since_ < moment_);
  }
  // It is over, for good: there is nothing to wait for.
  void end() { holds_ = false; }
  bool holds() const { return holds_; }

 private:
  Duration moment_;
  std::optional<Time> gone_since_;
  bool holds_ = false;
};

}  // namespace holdfast

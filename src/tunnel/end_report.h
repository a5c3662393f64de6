// What came of one stream, told when its end is destroyed: for counters and logs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "tunnel/session.h"

namespace holdfast::tunnel {

struct EndReport {
  uint64_t from_peer = 0;            // bytes that came through the tunnel and were taken
  uint64_t to_peer = 0;              // bytes that were given to the tunnel
  std::optional<ResetCode> reset{};  // absent: both directions came to their end
  std::string why{};                 // of a reset
};
// Once; also if the stream never began. Must not touch the link.
using OnEnded = std::function<void(const EndReport&)>;

}  // namespace holdfast::tunnel

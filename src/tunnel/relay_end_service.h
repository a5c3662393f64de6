// Two ends that are each other's: what comes on a stream of one link goes out on a stream of
// another. For proxies that carry a peer's streams to their agents.
#pragma once

#include <cstddef>
#include <memory>

#include "tunnel/end_report.h"
#include "tunnel/link_service.h"

namespace holdfast::tunnel {

struct RelayPair {
  std::unique_ptr<StreamEnd> first;
  std::unique_ptr<StreamEnd> second;
};
// At most `buffer_bytes` wait between them in each direction; beyond it the sender's window closes.
// They count as kept in `buffers`, which outlive both; at most kLeastRelayBytes wait once too much
// is. A reset of one resets the other with the same code. on_ended is the first one's.
RelayPair make_relay(LinkBuffers& buffers, OnEnded on_ended = {}, size_t buffer_bytes = 256 << 10);
// So that what runs goes on, however slowly.
inline constexpr size_t kLeastRelayBytes = 16 << 10;

}  // namespace holdfast::tunnel

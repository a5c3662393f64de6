// The frames of control that wait to be sent, already as bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tunnel/frame.h"

namespace holdfast::tunnel {

class ControlQueue {
 public:
  void put(FrameType type, StreamId stream, std::string_view payload);
  // The payload is led by a number.
  void put_number(FrameType type, StreamId stream, uint32_t number, std::string_view rest = {});
  // Of each only the last one waits, before everything else: a peer that asks and does not read
  // fills nothing, and round trips are those of the network.
  void put_ping(uint64_t value) { ping_ = value; }
  void put_pong(uint64_t value) { pong_ = value; }

  bool is_empty() const { return bytes_.empty() && !ping_ && !pong_; }
  size_t queued_bytes() const { return bytes_.size() - taken_; }
  // Whole frames, as many as fit.
  size_t take(std::span<char> into);
  // Gives back the memory that a busy time has left.
  void trim();

 private:
  std::string bytes_;
  size_t taken_ = 0;
  std::optional<uint64_t> ping_;
  std::optional<uint64_t> pong_;
};

}  // namespace holdfast::tunnel

#include "tunnel/session_control.h"

#include <array>
#include <cstring>

#include "base/check.h"

namespace holdfast::tunnel {
namespace {

constexpr size_t kPingFrameBytes = kFrameHeaderBytes + sizeof(uint64_t);
// What was taken is cut off the front once there is so much of it.
constexpr size_t kTakenBytes = 64 << 10;

void append_header(std::string& to, const FrameHeader& header) {
  std::array<char, kFrameHeaderBytes> bytes{};
  encode_header(header, bytes);
  to.append(bytes.data(), bytes.size());
}

// Returns how many bytes it wrote.
size_t take_ping(FrameType type, std::optional<uint64_t>& value, std::span<char> into) {
  if (!value || into.size() < kPingFrameBytes) return 0;
  encode_header({.length = sizeof(uint64_t), .type = type, .stream = 0},
                into.first<kFrameHeaderBytes>());
  encode_u64(*value, into.subspan<kFrameHeaderBytes, sizeof(uint64_t)>());
  value.reset();
  return kPingFrameBytes;
}

size_t frame_bytes(std::string_view frames) {
  const auto header = decode_header(std::span<const char, kFrameHeaderBytes>(
      frames.substr(0, kFrameHeaderBytes).data(), kFrameHeaderBytes));
  HF_CHECK(header.has_value(), "what waits are frames of ours");
  return kFrameHeaderBytes + header->length;
}

}  // namespace

void ControlQueue::put(FrameType type, StreamId stream, std::string_view payload) {
  const auto length = static_cast<uint32_t>(payload.size());
  append_header(bytes_, {.length = length, .type = type, .stream = stream});
  bytes_.append(payload);
}

void ControlQueue::put_number(FrameType type, StreamId stream, uint32_t number,
                              std::string_view rest) {
  std::array<char, sizeof(number)> encoded{};
  encode_u32(number, encoded);
  const auto length = static_cast<uint32_t>(encoded.size() + rest.size());
  append_header(bytes_, {.length = length, .type = type, .stream = stream});
  bytes_.append(encoded.data(), encoded.size());
  bytes_.append(rest);
}

size_t ControlQueue::take(std::span<char> into) {
  size_t written = take_ping(FrameType::Pong, pong_, into);
  written += take_ping(FrameType::Ping, ping_, into.subspan(written));
  const std::string_view waiting = std::string_view(bytes_).substr(taken_);
  size_t fits = 0;
  while (fits < waiting.size()) {
    const size_t frame = frame_bytes(waiting.substr(fits));
    if (frame > into.size() - written - fits) break;
    fits += frame;
  }
  if (fits > 0) std::memcpy(into.data() + written, waiting.data(), fits);
  taken_ += fits;
  if (taken_ == bytes_.size() || taken_ >= kTakenBytes) {
    bytes_.erase(0, taken_);
    taken_ = 0;
  }
  return written + fits;
}

void ControlQueue::trim() {
  if (bytes_.empty()) std::string().swap(bytes_);
}

}  // namespace holdfast::tunnel

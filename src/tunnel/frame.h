// The frames of a tunnel, byte by byte. docs/tunnel.md is the contract; session.h gives them sense.
//
//    0        3    4              8
//   ┌────────┬────┬──────────────┬─────────────┐
//   │ length │type│ stream       │ payload ... │   length: of the payload; numbers are big-endian
//   └────────┴────┴──────────────┴─────────────┘
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace holdfast::tunnel {

// 0: the tunnel itself. Else a slot, which the opener takes from those that are free, and how often
// that slot was used, so that frames of its last stream are not taken for those of the next.
using StreamId = uint32_t;

inline constexpr uint32_t kMaxSlots = 1 << 16;
constexpr uint32_t slot_of(StreamId stream) {
  return stream & (kMaxSlots - 1);
}
constexpr uint16_t use_of(StreamId stream) {
  return static_cast<uint16_t>(stream >> 16);
}
constexpr StreamId stream_id(uint32_t slot, uint16_t use) {
  return (StreamId{use} << 16) | slot;
}

enum class FrameType : uint8_t {
  Data = 0,    // at least one byte
  Window = 1,  // u32: this many more bytes may be sent; not 0
  End = 2,     // no more bytes in this direction
  Reset = 3,   // u32 code, text: the stream is over, both ways
  Open = 4,    // u32 window, OpenStream; from the opener only
  Accept = 5,  // u32 window: the stream is open; from the acceptor only
  Ping = 6,    // u64, echoed
  Pong = 7,
  Message = 8,  // TunnelMessage; stream 0
  Goodbye = 9,  // text: no new streams; this side closes when the last one ends
};

inline constexpr size_t kFrameHeaderBytes = 8;
// Several TLS records: one call of the kernel takes so much off a connection. Most windows
// are multiples of it: they end with a full frame.
inline constexpr size_t kMaxDataBytes = 65'536;
inline constexpr size_t kMaxOpenBytes = 4'096;  // besides the window
inline constexpr size_t kMaxMessageBytes = 65'536;
inline constexpr size_t kMaxTextBytes = 512;  // of a reset or a goodbye

struct FrameHeader {
  uint32_t length = 0;
  FrameType type = FrameType::Data;
  StreamId stream = 0;
  bool operator==(const FrameHeader&) const = default;
};

void encode_header(const FrameHeader& header, std::span<char, kFrameHeaderBytes> into);
// Absent if the type is unknown, the length not one of the type's, or the stream 0 where there must
// be one or the other way round.
std::optional<FrameHeader> decode_header(std::span<const char, kFrameHeaderBytes> bytes);

void encode_u32(uint32_t number, std::span<char, 4> into);
void encode_u64(uint64_t number, std::span<char, 8> into);
// Of the first bytes. Requires: that many.
uint32_t decode_u32(std::string_view bytes);
uint64_t decode_u64(std::string_view bytes);

}  // namespace holdfast::tunnel

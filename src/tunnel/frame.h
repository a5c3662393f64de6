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

using StreamId = uint32_t;  // 0: the tunnel itself

enum class FrameType : uint8_t {
  Data = 0,
  Window = 1,  // u32: this many more bytes may be sent
  End = 2,     // no more bytes in this direction
  Reset = 3,   // u32 code, text: the stream is over, both ways
  Open = 4,    // OpenStream; from the opener only
  Accept = 5,  // the stream is open; from the acceptor only
  Ping = 6,    // u64, echoed
  Pong = 7,
  Message = 8,  // TunnelMessage; stream 0
  Goodbye = 9,  // text: no new streams; this side closes when the last one ends
};

inline constexpr size_t kFrameHeaderBytes = 8;
// A full frame is one TLS record.
inline constexpr size_t kMaxDataBytes = 16'384 - kFrameHeaderBytes;
inline constexpr size_t kMaxOpenBytes = 4'096;
inline constexpr size_t kMaxMessageBytes = 65'536;
inline constexpr size_t kMaxTextBytes = 512;  // of a reset or a goodbye

struct FrameHeader {
  uint32_t length = 0;
  FrameType type = FrameType::Data;
  StreamId stream = 0;
  bool operator==(const FrameHeader&) const = default;
};

void encode_header(const FrameHeader& header, std::span<char, kFrameHeaderBytes> into);
// Absent if the type is unknown or the length more than the type allows.
std::optional<FrameHeader> decode_header(std::span<const char, kFrameHeaderBytes> bytes);

}  // namespace holdfast::tunnel

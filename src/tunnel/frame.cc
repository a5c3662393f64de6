#include "tunnel/frame.h"

namespace holdfast::tunnel {
namespace {

constexpr uint8_t kLastType = static_cast<uint8_t>(FrameType::Goodbye);
constexpr size_t kCodeBytes = 4;

size_t most_bytes(FrameType type) {
  switch (type) {
    case FrameType::Data:
      return kMaxDataBytes;
    case FrameType::Window:
      return kCodeBytes;
    case FrameType::End:
    case FrameType::Accept:
      return 0;
    case FrameType::Reset:
      return kCodeBytes + kMaxTextBytes;
    case FrameType::Open:
      return kMaxOpenBytes;
    case FrameType::Ping:
    case FrameType::Pong:
      return 8;
    case FrameType::Message:
      return kMaxMessageBytes;
    case FrameType::Goodbye:
      return kMaxTextBytes;
  }
  return 0;
}

uint8_t byte_of(char byte) {
  return static_cast<uint8_t>(byte);
}

}  // namespace

void encode_header(const FrameHeader& header, std::span<char, kFrameHeaderBytes> into) {
  into[0] = static_cast<char>(header.length >> 16);
  into[1] = static_cast<char>(header.length >> 8);
  into[2] = static_cast<char>(header.length);
  into[3] = static_cast<char>(header.type);
  into[4] = static_cast<char>(header.stream >> 24);
  into[5] = static_cast<char>(header.stream >> 16);
  into[6] = static_cast<char>(header.stream >> 8);
  into[7] = static_cast<char>(header.stream);
}

std::optional<FrameHeader> decode_header(std::span<const char, kFrameHeaderBytes> bytes) {
  const uint8_t type = byte_of(bytes[3]);
  if (type > kLastType) return std::nullopt;
  FrameHeader header;
  header.length = (uint32_t{byte_of(bytes[0])} << 16) | (uint32_t{byte_of(bytes[1])} << 8) |
                  uint32_t{byte_of(bytes[2])};
  header.type = static_cast<FrameType>(type);
  header.stream = (uint32_t{byte_of(bytes[4])} << 24) | (uint32_t{byte_of(bytes[5])} << 16) |
                  (uint32_t{byte_of(bytes[6])} << 8) | uint32_t{byte_of(bytes[7])};
  if (header.length > most_bytes(header.type)) return std::nullopt;
  return header;
}

}  // namespace holdfast::tunnel

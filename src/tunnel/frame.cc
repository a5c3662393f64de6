#include "tunnel/frame.h"

#include "base/check.h"

namespace holdfast::tunnel {
namespace {

constexpr uint8_t kLastType = static_cast<uint8_t>(FrameType::Goodbye);
constexpr uint32_t kNumberBytes = 4;

struct Lengths {
  uint32_t least;
  uint32_t most;
};

constexpr Lengths lengths_of(FrameType type) {
  switch (type) {
    case FrameType::Data:
      return {1, kMaxDataBytes};
    case FrameType::Window:
    case FrameType::Accept:
      return {kNumberBytes, kNumberBytes};
    case FrameType::End:
      return {0, 0};
    case FrameType::Reset:
      return {kNumberBytes, kNumberBytes + kMaxTextBytes};
    case FrameType::Open:
      return {kNumberBytes, kNumberBytes + kMaxOpenBytes};
    case FrameType::Ping:
    case FrameType::Pong:
      return {2 * kNumberBytes, 2 * kNumberBytes};
    case FrameType::Message:
      return {0, kMaxMessageBytes};
    case FrameType::Goodbye:
      return {0, kMaxTextBytes};
  }
  return {1, 0};
}

constexpr bool is_of_a_stream(FrameType type) {
  return type <= FrameType::Accept;
}

template <typename Number>
void encode_number(Number number, char* into) {
  for (size_t i = sizeof(Number); i-- > 0; number = static_cast<Number>(number >> 8)) {
    into[i] = static_cast<char>(number & 0xff);
  }
}

template <typename Number>
Number decode_number(const char* bytes) {
  Number number = 0;
  for (size_t i = 0; i < sizeof(Number); ++i) {
    number = static_cast<Number>((number << 8) | static_cast<uint8_t>(bytes[i]));
  }
  return number;
}

}  // namespace

void encode_header(const FrameHeader& header, std::span<char, kFrameHeaderBytes> into) {
  encode_number((header.length << 8) | static_cast<uint8_t>(header.type), into.data());
  encode_number(header.stream, into.data() + kNumberBytes);
}

std::optional<FrameHeader> decode_header(std::span<const char, kFrameHeaderBytes> bytes) {
  const auto first = decode_number<uint32_t>(bytes.data());
  if ((first & 0xff) > kLastType) return std::nullopt;
  const FrameHeader header{.length = first >> 8,
                           .type = static_cast<FrameType>(first & 0xff),
                           .stream = decode_number<uint32_t>(bytes.data() + kNumberBytes)};
  const Lengths lengths = lengths_of(header.type);
  if (header.length < lengths.least || header.length > lengths.most) return std::nullopt;
  if (is_of_a_stream(header.type) != (use_of(header.stream) > 0)) return std::nullopt;
  if (!is_of_a_stream(header.type) && header.stream != 0) return std::nullopt;
  return header;
}

void encode_u32(uint32_t number, std::span<char, 4> into) {
  encode_number(number, into.data());
}

void encode_u64(uint64_t number, std::span<char, 8> into) {
  encode_number(number, into.data());
}

uint32_t decode_u32(std::string_view bytes) {
  HF_CHECK(bytes.size() >= sizeof(uint32_t), "four bytes make a number");
  return decode_number<uint32_t>(bytes.data());
}

uint64_t decode_u64(std::string_view bytes) {
  HF_CHECK(bytes.size() >= sizeof(uint64_t), "eight bytes make a number");
  return decode_number<uint64_t>(bytes.data());
}

}  // namespace holdfast::tunnel

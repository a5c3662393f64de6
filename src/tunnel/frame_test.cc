#include "tunnel/frame.h"

#include <gtest/gtest.h>

#include <array>

namespace holdfast::tunnel {
namespace {

constexpr StreamId kStream = stream_id(3, 1);

TEST(Frame, AHeaderReadsAsItWasWritten) {
  const FrameHeader header{.length = 0x1234, .type = FrameType::Data, .stream = 0x89abcdef};
  std::array<char, kFrameHeaderBytes> bytes{};

  encode_header(header, bytes);

  EXPECT_EQ(decode_header(bytes), header);
}

TEST(Frame, AnUnknownTypeOrALengthBeyondItsTypeIsNoHeader) {
  std::array<char, kFrameHeaderBytes> bytes{};
  encode_header({.length = kMaxDataBytes + 1, .type = FrameType::Data, .stream = kStream}, bytes);
  EXPECT_EQ(decode_header(bytes), std::nullopt);

  encode_header({.length = 0, .type = static_cast<FrameType>(10), .stream = kStream}, bytes);
  EXPECT_EQ(decode_header(bytes), std::nullopt);
}

}  // namespace
}  // namespace holdfast::tunnel

#include "tunnel/frame.h"

#include <gtest/gtest.h>

#include <array>

namespace holdfast::tunnel {
namespace {

constexpr StreamId kFrameStream = stream_id(3, 1);

std::optional<FrameHeader> through_bytes(const FrameHeader& header) {
  std::array<char, kFrameHeaderBytes> bytes{};
  encode_header(header, bytes);
  return decode_header(bytes);
}

TEST(Frame, AHeaderReadsAsItWasWritten) {
  const FrameHeader header{.length = 0x1234, .type = FrameType::Data, .stream = 0x89abcdef};

  EXPECT_EQ(through_bytes(header), header);
}

TEST(Frame, AHeaderIsTheseBytes) {
  std::array<char, kFrameHeaderBytes> bytes{};

  encode_header({.length = 0x010203, .type = FrameType::Goodbye, .stream = 0x04050607}, bytes);

  EXPECT_EQ(std::string_view(bytes.data(), bytes.size()), "\x01\x02\x03\x09\x04\x05\x06\x07");
}

TEST(Frame, AnUnknownTypeIsNoHeader) {
  EXPECT_FALSE(through_bytes({.length = 0, .type = static_cast<FrameType>(10), .stream = 0}));
  EXPECT_FALSE(through_bytes({.length = 0, .type = static_cast<FrameType>(255), .stream = 0}));
}

TEST(Frame, ALengthThatIsNotOfItsTypeIsNoHeader) {
  struct Case {
    FrameType type;
    uint32_t least, most;
  };
  for (const auto& [type, least, most] : {
           Case{FrameType::Data, 1, kMaxDataBytes},
           Case{FrameType::Window, 4, 4},
           Case{FrameType::End, 0, 0},
           Case{FrameType::Reset, 4, 4 + kMaxTextBytes},
           Case{FrameType::Open, 4, 4 + kMaxOpenBytes},
           Case{FrameType::Accept, 4, 4},
           Case{FrameType::Ping, 8, 8},
           Case{FrameType::Pong, 8, 8},
           Case{FrameType::Message, 0, kMaxMessageBytes},
           Case{FrameType::Goodbye, 0, kMaxTextBytes},
       }) {
    SCOPED_TRACE(static_cast<int>(type));
    const StreamId stream = type < FrameType::Ping ? kFrameStream : 0;
    EXPECT_TRUE(through_bytes({.length = least, .type = type, .stream = stream}));
    EXPECT_TRUE(through_bytes({.length = most, .type = type, .stream = stream}));
    EXPECT_FALSE(through_bytes({.length = most + 1, .type = type, .stream = stream}));
    if (least == 0) continue;
    EXPECT_FALSE(through_bytes({.length = least - 1, .type = type, .stream = stream}));
  }
}

TEST(Frame, AFrameOfAStreamHasOneAndAFrameOfTheTunnelHasNone) {
  EXPECT_FALSE(through_bytes({.length = 1, .type = FrameType::Data, .stream = 0}));
  EXPECT_FALSE(through_bytes({.length = 1, .type = FrameType::Data, .stream = stream_id(3, 0)}));
  EXPECT_FALSE(through_bytes({.length = 8, .type = FrameType::Ping, .stream = kFrameStream}));
  EXPECT_FALSE(through_bytes({.length = 8, .type = FrameType::Ping, .stream = stream_id(3, 0)}));
}

TEST(Frame, AStreamsNumberIsItsSlotAndItsUse) {
  EXPECT_EQ(slot_of(stream_id(65'535, 7)), 65'535);
  EXPECT_EQ(use_of(stream_id(65'535, 7)), 7);
  EXPECT_EQ(stream_id(2, 1), 0x00010002);
}

TEST(Frame, NumbersReadAsTheyWereWritten) {
  std::array<char, 4> four{};
  std::array<char, 8> eight{};

  encode_u32(0xfedcba98, four);
  encode_u64(0xfedcba9876543210, eight);

  EXPECT_EQ(decode_u32({four.data(), four.size()}), 0xfedcba98);
  EXPECT_EQ(decode_u64({eight.data(), eight.size()}), 0xfedcba9876543210);
}

}  // namespace
}  // namespace holdfast::tunnel

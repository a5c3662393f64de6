#include "tunnel/frame_reader.h"

#include <gtest/gtest.h>

#include <array>

namespace holdfast::tunnel {
namespace {

constexpr StreamId kStream = stream_id(0, 1);

std::string frame(FrameType type, StreamId stream, const std::string& payload) {
  std::array<char, kFrameHeaderBytes> header{};
  encode_header({.length = static_cast<uint32_t>(payload.size()), .type = type, .stream = stream},
                header);
  return std::string(header.data(), header.size()) + payload;
}

TEST(FrameReader, AFrameThatIsAllThereIsNotCopied) {
  FrameReader reader;
  const std::string bytes = frame(FrameType::Message, 0, "hello");
  std::string_view left = bytes;
  FramePart part;

  ASSERT_EQ(reader.next(left, part), FrameReader::Outcome::Part);

  EXPECT_EQ(part.bytes, "hello");
  EXPECT_EQ(part.bytes.data(), bytes.data() + kFrameHeaderBytes);
  EXPECT_EQ(reader.next(left, part), FrameReader::Outcome::NeedsMore);
}

TEST(FrameReader, DataComesInPartsAndOnlyTheFirstStartsTheFrame) {
  FrameReader reader;
  const std::string bytes = frame(FrameType::Data, kStream, "abcdef");
  FramePart part;

  std::string_view first = std::string_view(bytes).substr(0, kFrameHeaderBytes);
  ASSERT_EQ(reader.next(first, part), FrameReader::Outcome::Part);
  EXPECT_TRUE(part.starts && part.bytes.empty());
  EXPECT_EQ(reader.next(first, part), FrameReader::Outcome::NeedsMore);

  std::string_view second = std::string_view(bytes).substr(kFrameHeaderBytes, 4);
  ASSERT_EQ(reader.next(second, part), FrameReader::Outcome::Part);
  EXPECT_FALSE(part.starts);
  EXPECT_EQ(part.bytes, "abcd");
}

TEST(FrameReader, AFrameThatWasCutOutlivesTheNextOneThatIs) {
  FrameReader reader;
  const std::string first = frame(FrameType::Message, 0, "first message");
  const std::string second = frame(FrameType::Message, 0, "second message");
  FramePart part;
  std::string_view head = std::string_view(first).substr(0, 12);
  EXPECT_EQ(reader.next(head, part), FrameReader::Outcome::NeedsMore);

  reader.begin();
  const std::string rest = first.substr(12) + second.substr(0, 15);
  std::string_view left = rest;
  ASSERT_EQ(reader.next(left, part), FrameReader::Outcome::Part);
  const std::string_view whole = part.bytes;
  EXPECT_EQ(reader.next(left, part), FrameReader::Outcome::NeedsMore);

  EXPECT_EQ(whole, "first message");
}

TEST(FrameReader, WhatIsNoFrameIsSaidToBeNone) {
  FrameReader reader;
  std::string_view bytes = "GET / HTTP/1.1\r\n\r\n";
  FramePart part;

  EXPECT_EQ(reader.next(bytes, part), FrameReader::Outcome::NoFrame);
}

}  // namespace
}  // namespace holdfast::tunnel

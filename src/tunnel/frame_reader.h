// Cuts what comes into frames. Data is passed on in the parts in which it comes; every other frame
// is short and passed on whole.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "tunnel/frame.h"

namespace holdfast::tunnel {

struct FramePart {
  FrameHeader header{};
  std::string_view bytes{};
  bool starts = false;  // the first part of its frame; that of data may be empty
};

class FrameReader {
 public:
  enum class Outcome : uint8_t { Part, NeedsMore, NoFrame };

  // Before the first next() of new bytes: nobody looks at the parts of the last ones any more.
  void begin();
  // Takes the next part off the front of `bytes`. Its view lives until begin() or as long as these
  // bytes. NeedsMore: all of them were taken. NoFrame: they are not of this protocol.
  Outcome next(std::string_view& bytes, FramePart& part);

 private:
  Outcome take_header(std::string_view& bytes);
  Outcome take_data(std::string_view& bytes, FramePart& part, bool starts);
  Outcome take_whole(std::string_view& bytes, FramePart& part);

  std::array<char, kFrameHeaderBytes> header_bytes_{};
  uint8_t header_have_ = 0;  // kFrameHeaderBytes: header_ stands and its payload comes
  FrameHeader header_{};
  uint32_t left_ = 0;    // of the payload
  std::string part_;     // of a payload that was cut
  std::string whole_{};  // that payload, once it is all there
};

}  // namespace holdfast::tunnel

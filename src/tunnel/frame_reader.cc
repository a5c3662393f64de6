#include "tunnel/frame_reader.h"

#include <algorithm>
#include <cstring>

namespace holdfast::tunnel {

void FrameReader::begin() {
  // Frames are seldom cut: nothing is kept for the next time.
  if (whole_.capacity() > sizeof(std::string)) std::string().swap(whole_);
}

FrameReader::Outcome FrameReader::next(std::string_view& bytes, FramePart& part) {
  const bool starts = header_have_ < kFrameHeaderBytes;
  if (starts) {
    const Outcome outcome = take_header(bytes);
    if (outcome != Outcome::Part) return outcome;
  }
  return header_.type == FrameType::Data ? take_data(bytes, part, starts) : take_whole(bytes, part);
}

FrameReader::Outcome FrameReader::take_header(std::string_view& bytes) {
  const size_t taken = std::min(kFrameHeaderBytes - header_have_, bytes.size());
  if (taken > 0) std::memcpy(header_bytes_.data() + header_have_, bytes.data(), taken);
  header_have_ = static_cast<uint8_t>(header_have_ + taken);
  bytes.remove_prefix(taken);
  if (header_have_ < kFrameHeaderBytes) return Outcome::NeedsMore;
  const std::optional<FrameHeader> header = decode_header(header_bytes_);
  if (!header) return Outcome::NoFrame;
  header_ = *header;
  left_ = header->length;
  return Outcome::Part;
}

FrameReader::Outcome FrameReader::take_data(std::string_view& bytes, FramePart& part, bool starts) {
  const size_t taken = std::min<size_t>(left_, bytes.size());
  if (taken == 0 && !starts) return Outcome::NeedsMore;
  part = {.header = header_, .bytes = bytes.substr(0, taken), .starts = starts};
  bytes.remove_prefix(taken);
  left_ -= static_cast<uint32_t>(taken);
  if (left_ == 0) header_have_ = 0;
  return Outcome::Part;
}

FrameReader::Outcome FrameReader::take_whole(std::string_view& bytes, FramePart& part) {
  const size_t taken = std::min<size_t>(left_, bytes.size());
  left_ -= static_cast<uint32_t>(taken);
  const bool was_cut = left_ > 0 || !part_.empty();
  if (was_cut) part_.append(bytes.substr(0, taken));
  part = {.header = header_, .bytes = bytes.substr(0, taken), .starts = true};
  bytes.remove_prefix(taken);
  if (left_ > 0) return Outcome::NeedsMore;
  header_have_ = 0;
  if (was_cut) {
    whole_ = std::exchange(part_, {});
    part.bytes = whole_;
  }
  return Outcome::Part;
}

}  // namespace holdfast::tunnel

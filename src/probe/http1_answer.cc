#include "probe/http1_answer.h"

#include <algorithm>
#include <charconv>

#include "base/bytes.h"
#include "probe/probe_rules.h"

namespace holdfast::probe {
namespace {

using std::string_view;

constexpr size_t kMaxHeadBytes = 256 * 1024;  // with what comes before it, and a line of chunks
constexpr int kMaxInterims = 5;

string_view trimmed(string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool take_number(string_view text, uint64_t& number, int base) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, base);
  return !text.empty() && error == std::errc() && stop == end && number <= INT64_MAX;
}

}  // namespace

void Http1Answer::put(string_view bytes) {
  while (!bytes.empty() && !done() && !bad()) {
    if (stage_ == Stage::Body || stage_ == Stage::UntilEnd || stage_ == Stage::Chunk) {
      take_body(bytes);
      continue;
    }
    string_view line;
    if (!take_line(bytes, line)) break;
    on_line(line);
  }
}

void Http1Answer::end() {
  if (done()) return;
  stage_ = stage_ == Stage::UntilEnd ? Stage::Done : Stage::Bad;
}

void Http1Answer::take_body(string_view& bytes) {
  const size_t count =
      stage_ == Stage::UntilEnd ? bytes.size() : std::min<uint64_t>(bytes.size(), left_);
  bytes.remove_prefix(count);
  body_bytes_ += count;
  left_ -= stage_ == Stage::UntilEnd ? 0 : count;
  if (body_bytes_ >= kEnoughBodyBytes || (stage_ == Stage::Body && left_ == 0)) {
    stage_ = Stage::Done;
  } else if (stage_ == Stage::Chunk && left_ == 0) {
    stage_ = Stage::ChunkEnd;
  }
}

bool Http1Answer::take_line(string_view& bytes, string_view& line) {
  if (line_used_) pending_.clear();
  line_used_ = false;
  const size_t end = bytes.find('\n');
  const size_t count = end == string_view::npos ? bytes.size() : end + 1;
  head_bytes_ += count;
  if (head_bytes_ > kMaxHeadBytes) {
    stage_ = Stage::Bad;
    return false;
  }
  const bool whole = end != string_view::npos;
  if (pending_.empty() && whole) {
    line = bytes.substr(0, end);
  } else {
    pending_.append(bytes.substr(0, whole ? end : count));
    line = pending_;
    line_used_ = whole;
  }
  bytes.remove_prefix(count);
  if (whole && line.ends_with('\r')) line.remove_suffix(1);
  return whole;
}

void Http1Answer::on_line(string_view line) {
  switch (stage_) {
    case Stage::StatusLine:
      return on_status_line(line);
    case Stage::Headers:
      return line.empty() ? on_head_end() : on_header(line);
    case Stage::ChunkSize:
      return on_chunk_size(line);
    case Stage::ChunkEnd:
      stage_ = line.empty() ? Stage::ChunkSize : Stage::Bad;
      return;
    case Stage::Trailers:
      if (line.empty()) stage_ = Stage::Done;
      return;
    default:
      return;
  }
}

// "HTTP/1.1 200 OK", of which the words behind the number may be missing.
void Http1Answer::on_status_line(string_view line) {
  const bool fits = line.size() >= 12 && line.starts_with("HTTP/") && is_digit(line[5]) &&
                    line[6] == '.' && is_digit(line[7]) && line[8] == ' ' &&
                    std::ranges::all_of(line.substr(9, 3), is_digit) &&
                    (line.size() == 12 || line[12] == ' ');
  if (!fits) {
    stage_ = Stage::Bad;
    return;
  }
  old_ = line[5] == '0' || (line[5] == '1' && line[7] == '0');
  status_ = (line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0');
  stage_ = Stage::Headers;
}

void Http1Answer::on_header(string_view line) {
  if (line.front() == ' ' || line.front() == '\t') return;  // goes on with the one before
  const size_t colon = line.find(':');
  if (colon == string_view::npos || !is_token(line.substr(0, colon))) {
    stage_ = Stage::Bad;
    return;
  }
  const string_view name = line.substr(0, colon);
  const string_view value = trimmed(line.substr(colon + 1));
  if (same_name(name, "content-length")) return on_length(value);
  if (same_name(name, "location") && location_.empty()) location_ = value;
  if (!same_name(name, "transfer-encoding") || old_) return;
  const bool known = same_name(value, "chunked") && !chunked_;
  chunked_ = true;
  if (!known) stage_ = Stage::Bad;
}

void Http1Answer::on_length(string_view value) {
  uint64_t length = 0;
  const bool fits = take_number(value, length, 10) && (!has_length_ || length == left_);
  has_length_ = true;
  left_ = length;
  if (!fits) stage_ = Stage::Bad;
}

void Http1Answer::on_head_end() {
  const bool interim = status_ >= 100 && status_ < 200 && status_ != 101;
  if (interim) {
    location_.clear();
    chunked_ = false;
    has_length_ = false;
    interim_ += 1;
    stage_ = interim_ > kMaxInterims ? Stage::Bad : Stage::StatusLine;
    return;
  }
  head_done_ = true;
  if (status_ == 101 || status_ == 204 || status_ == 304) {
    stage_ = Stage::Done;
  } else if (chunked_) {
    stage_ = Stage::ChunkSize;
  } else if (!has_length_) {
    stage_ = Stage::UntilEnd;
  } else {
    stage_ = left_ == 0 ? Stage::Done : Stage::Body;
  }
}

// "1f4" or "1f4;name=value"; the last one is 0.
void Http1Answer::on_chunk_size(string_view line) {
  if (!take_number(trimmed(line.substr(0, line.find(';'))), left_, 16)) {
    stage_ = Stage::Bad;
  } else {
    stage_ = left_ == 0 ? Stage::Trailers : Stage::Chunk;
  }
}

}  // namespace holdfast::probe

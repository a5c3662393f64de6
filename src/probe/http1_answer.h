// The answer to an HTTP/1 probe out of bytes, as Go reads it: only what decides is kept, its status
// and where it redirects to. The body is counted, never kept, and needs not be read beyond 10 KiB.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::probe {

constexpr size_t kEnoughBodyBytes = 10 * 1024;

class Http1Answer {
 public:
  // Takes all of it. Nothing more is needed once done() or bad().
  void put(std::string_view bytes);
  // The peer sends no more, which ends a body without a length.
  void end();

  // The whole answer is there, or enough of it.
  bool done() const { return stage_ == Stage::Done; }
  // What came is not HTTP/1, or ended early: the head, or only the body if head_done().
  bool bad() const { return stage_ == Stage::Bad; }
  bool head_done() const { return head_done_; }

  // Of the head. Requires: head_done().
  int status() const { return status_; }
  const std::string& location() const { return location_; }

 private:
  enum class Stage {
    StatusLine,
    Headers,
    Body,
    UntilEnd,
    ChunkSize,
    Chunk,
    ChunkEnd,
    Trailers,
    Done,
    Bad
  };

  void take_body(std::string_view& bytes);
  // A line of `bytes` with what was left from before; false if there is none yet.
  bool take_line(std::string_view& bytes, std::string_view& line);
  void on_line(std::string_view line);
  void on_status_line(std::string_view line);
  void on_header(std::string_view line);
  void on_length(std::string_view value);
  void on_head_end();
  void on_chunk_size(std::string_view line);

  Stage stage_ = Stage::StatusLine;
  bool head_done_ = false;
  bool old_ = false;  // HTTP/1.0: knows no chunks
  int status_ = 0;
  int interim_ = 0;
  size_t head_bytes_ = 0;
  size_t body_bytes_ = 0;
  uint64_t left_ = 0;  // of the body or the chunk
  bool has_length_ = false;
  bool chunked_ = false;
  std::string pending_;  // a line that has begun
  bool line_used_ = false;
  std::string location_;
};

}  // namespace holdfast::probe

// One HTTP/1 request, or one answer, out of bytes, over Boost.Beast's parser. Takes bytes, waits
// for nothing.
#pragma once

#include <expected>
#include <memory>
#include <string_view>

#include "net/http_message.h"

namespace holdfast::net {

struct HttpLimits {
  size_t max_header_bytes = 16 << 10;
  size_t max_body_bytes = 4 << 20;
};

class HttpParser {
 public:
  explicit HttpParser(const HttpLimits& limits);
  ~HttpParser();
  HttpParser(const HttpParser&) = delete;
  HttpParser& operator=(const HttpParser&) = delete;

  // How much of `bytes` it took; the rest must be given again, with more after it if it is not
  // done. A refusal is the response to end the connection with.
  std::expected<size_t, HttpResponse> put(std::string_view bytes);

  bool header_done() const;
  bool done() const;
  size_t body_bytes() const;
  // The header is done and the peer waits for "100 Continue" before it sends the body.
  bool expects_continue() const;
  // Whether the peer wants another request on this connection; of HTTP/1.0 only if it says so.
  bool keep_alive() const;
  bool understands_chunks() const;  // HTTP/1.1
  // Moves the request into `request`, all but its peer; the target parsed, or as it was sent.
  // Requires: done().
  enum class Target { Parsed, Raw };
  Status take(HttpRequest& request, Target target = Target::Parsed);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The answer to one request; what comes before it ("100 Continue") is passed over.
class HttpAnswerParser {
 public:
  // The answer to HEAD has no body, whatever its header promises.
  HttpAnswerParser(const HttpLimits& limits, bool to_head);
  ~HttpAnswerParser();
  HttpAnswerParser(const HttpAnswerParser&) = delete;
  HttpAnswerParser& operator=(const HttpAnswerParser&) = delete;

  // As HttpParser::put(). kResourceExhausted if a limit holds, kDataLoss if it is not HTTP/1.
  Result<size_t> put(std::string_view bytes);
  // The peer sends no more, which ends a body without a length. kDataLoss if more was promised.
  Status end();

  bool done() const;
  // Whether the peer takes another request on this connection. Requires: done().
  bool keep_alive() const;
  // Requires: done(). Nothing else is asked of the parser afterwards.
  HttpAnswer take();

 private:
  struct State;
  void begin();

  HttpLimits limits_;
  bool to_head_;
  int passed_over_ = 0;
  std::unique_ptr<State> state_;
};

}  // namespace holdfast::net

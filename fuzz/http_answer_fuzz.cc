// Foreign bytes as an HTTP answer, cut into pieces of any size; they end with the connection. The
// first byte says how large the pieces are, and whether HEAD was asked.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "net/http_parser.h"

namespace holdfast::net {
namespace {

constexpr HttpLimits kLimits{.max_header_bytes = 512, .max_body_bytes = 1'024};

// The answer's status; 0 if there is none.
int read_one(std::string_view bytes, size_t piece, bool to_head) {
  HttpAnswerParser parser(kLimits, to_head);
  std::string pending;
  for (size_t at = 0; at < bytes.size() && !parser.done(); at += piece) {
    pending += bytes.substr(at, piece);
    const Result<size_t> taken = parser.put(pending);
    if (!taken.ok()) return 0;
    HF_CHECK(*taken <= pending.size(), "no more is taken than there is");
    pending.erase(0, *taken);
    HF_CHECK(parser.done() || pending.size() <= kLimits.max_header_bytes, "what waits has a limit");
  }
  if (!parser.done() && !parser.end().ok()) return 0;
  if (!parser.done()) return 0;
  static_cast<void>(parser.keep_alive());
  const HttpAnswer answer = parser.take();
  HF_CHECK(answer.status >= 200, "what comes before the answer is passed over");
  HF_CHECK(answer.body.size() <= kLimits.max_body_bytes, "a body has its limit");
  HF_CHECK(!to_head || answer.body.empty(), "the answer to HEAD has none");
  return answer.status;
}

}  // namespace
}  // namespace holdfast::net

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  const bool to_head = data[0] >= 128;
  const int whole = holdfast::net::read_one(bytes, bytes.size() + 1, to_head);
  const int pieces = holdfast::net::read_one(bytes, size_t{data[0]} % 128 + 1, to_head);
  HF_CHECK(whole == pieces || whole == 0 || pieces == 0, "pieces change nothing");
  return 0;
}

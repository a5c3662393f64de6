// Foreign bytes as the answer to a probe: in HTTP/1, whole and in pieces, which must come to the
// same; in HTTP/2, as an answer of gRPC as well.
#include <cstddef>
#include <cstdint>
#include <tuple>

#include "base/check.h"
#include "probe/grpc_check.h"
#include "probe/h2_exchange.h"
#include "probe/http1_answer.h"

namespace holdfast::probe {
namespace {

auto read_http1(std::string_view bytes, size_t piece) {
  Http1Answer answer;
  for (size_t at = 0; at < bytes.size(); at += piece) answer.put(bytes.substr(at, piece));
  const bool before = answer.done();
  answer.end();
  HF_CHECK(answer.done() != answer.bad(), "at its end an answer is whole or not");
  HF_CHECK(!answer.done() || answer.head_done(), "a whole answer has a head");
  return std::tuple(before, answer.done(), answer.head_done(),
                    answer.head_done() ? answer.status() : 0, answer.location());
}

void read_http2(std::string_view bytes) {
  H2Exchange exchange(health_request({.service = "x"}, {.authority = "[::1]:1"}));
  HF_CHECK(exchange.output().starts_with("PRI * HTTP/2.0\r\n"), "the client speaks first");
  const Status took = exchange.put(bytes);
  const H2Answer& answer = exchange.answer();
  HF_CHECK(answer.body.size() <= kKeptBodyBytes, "what is kept has a limit");
  HF_CHECK(!answer.ended || answer.status != 0, "a whole answer has a head");
  if (took.ok() && answer.ended) judge_health(answer);
  exchange.output();
}

void check(std::string_view bytes) {
  const auto whole = read_http1(bytes, bytes.size() + 1);
  HF_CHECK(read_http1(bytes, 1) == whole, "pieces of one byte make no difference");
  HF_CHECK(read_http1(bytes, 7) == whole, "pieces of seven bytes make no difference");
  read_http2(bytes);
  H2Answer answer = {.status = 200, .content_type = "application/grpc", .grpc_status = "0"};
  answer.body = bytes;
  const Outcome raw = judge_health(answer);
  answer.body = frame_message(bytes);
  const Outcome framed = judge_health(answer);
  HF_CHECK(!raw.reason.empty() && !framed.reason.empty(), "every outcome has a reason");
}

}  // namespace
}  // namespace holdfast::probe

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  holdfast::probe::check({reinterpret_cast<const char*>(data), size});
  return 0;
}

// Foreign bytes as HTTP, taken as far as the API: cut into pieces of any size, parsed, routed, and
// read as what each endpoint takes. The first byte says how large the pieces are.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "events/watch_request.h"
#include "net/http_parser.h"
#include "web/request.h"
#include "web/route.h"

namespace holdfast::web {
namespace {

constexpr net::HttpLimits kLimits{.max_header_bytes = 512, .max_body_bytes = 1'024};

void check_segments(const net::HttpTarget& target) {
  for (const std::string& segment : target.segments) {
    HF_CHECK(!segment.empty() && segment != "." && segment != "..", "a segment leads nowhere else");
    HF_CHECK(segment.find('/') == std::string::npos, "a segment is one");
    HF_CHECK(segment.find('\0') == std::string::npos, "a segment is text");
  }
}

void read_as_asked(const Route& route, const net::HttpRequest& request) {
  static_cast<void>(list_request(route, request));
  static_cast<void>(delete_request(route, request));
  static_cast<void>(no_query(request));
  const Result<v1::WatchRequest> watch = watch_request(request);
  if (watch.ok()) {
    HF_CHECK(watch->after_revision() >= 0, "revisions are not negative");
    for (const v1::WatchKind& kind : watch->kinds()) {
      HF_CHECK(!kind.with_secrets(), "nobody asks for secrets over HTTP");
    }
    static_cast<void>(events::from_proto(*watch, {}));
  }
  const Result<Write> write = write_request(route, request);
  if (!write.ok()) return;
  const v1::Resource& resource = write->request.resource();
  HF_CHECK(resource.kind() == route.kind, "what is written is of the path's kind");
  HF_CHECK(route.name.empty() || resource.metadata().name() == route.name, "and of its name");
}

// How many bytes the first request took; 0 if there is none.
size_t serve_one(std::string_view bytes, size_t piece) {
  net::HttpParser parser(kLimits);
  std::string pending;
  size_t taken_in_all = 0;
  for (size_t at = 0; at < bytes.size() && !parser.done(); at += piece) {
    pending += bytes.substr(at, piece);
    const auto taken = parser.put(pending);
    if (!taken) {
      HF_CHECK(taken.error().status >= 400, "a refusal is an error");
      return 0;
    }
    HF_CHECK(*taken <= pending.size(), "no more is taken than there is");
    pending.erase(0, *taken);
    taken_in_all += *taken;
    HF_CHECK(parser.body_bytes() <= kLimits.max_body_bytes, "a body has its limit");
    HF_CHECK(parser.done() || pending.size() <= kLimits.max_header_bytes, "what waits has one");
  }
  if (!parser.done()) return 0;
  net::HttpRequest request;
  if (!parser.take(request).ok()) return taken_in_all;
  check_segments(request.target);
  HF_CHECK(request.headers.size() <= 3, "few headers are kept");
  const auto route = find_route(request.method, request.target.segments, Served::Everything);
  const auto health = find_route(request.method, request.target.segments, Served::HealthOnly);
  HF_CHECK(!health || health->endpoint <= Endpoint::Metrics, "the API is not served everywhere");
  if (route) read_as_asked(*route, request);
  return taken_in_all;
}

}  // namespace
}  // namespace holdfast::web

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  const size_t whole = holdfast::web::serve_one(bytes, bytes.size() + 1);
  const size_t in_pieces = holdfast::web::serve_one(bytes, size_t{data[0]} + 1);
  HF_CHECK(whole == in_pieces || whole == 0 || in_pieces == 0, "pieces change nothing");
  if (whole > 0) holdfast::web::serve_one(bytes.substr(whole), bytes.size() + 1);
  return 0;
}

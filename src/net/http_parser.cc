// The only file that includes Boost.Beast: it is slow to compile.
#include "net/http_parser.h"

#include <absl/strings/ascii.h>

#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/parser.hpp>

#include "base/check.h"

namespace holdfast::net {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

constexpr std::string_view kKept[] = {"content-type", "idempotency-key", "if-match",
                                      "last-event-id"};

// A body as text. Beast's own makes room for all that the header promises, before it comes.
struct TextBody {
  using value_type = std::string;

  class reader {
   public:
    template <bool is_request, typename Fields>
    reader(http::header<is_request, Fields>& /*header*/, value_type& body) : body_(body) {}
    void init(const boost::optional<std::uint64_t>& /*length*/, beast::error_code& error) {
      error = {};
    }
    template <typename Buffers>
    size_t put(const Buffers& buffers, beast::error_code& error) {
      error = {};
      size_t taken = 0;
      for (const auto buffer : beast::buffers_range_ref(buffers)) {
        body_.append(static_cast<const char*>(buffer.data()), buffer.size());
        taken += buffer.size();
      }
      return taken;
    }
    void finish(beast::error_code& error) { error = {}; }

   private:
    value_type& body_;
  };
};

std::string_view to_std(beast::string_view text) {
  return {text.data(), text.size()};
}

HttpResponse refusal(const beast::error_code& error) {
  if (error == http::error::header_limit) {
    return http_error(431, "HF6031", "the request's header is too large");
  }
  if (error == http::error::body_limit) {
    return http_error(413, "HF6032", "the request's body is too large");
  }
  if (error == http::error::bad_version) {
    return http_error(505, "HF6030", "this is an HTTP/1.1 server");
  }
  return http_error(400, "HF6030", "the request is not well-formed HTTP/1.1");
}

}  // namespace

struct HttpParser::State {
  explicit State(const HttpLimits& limits) : max_pending_bytes(limits.max_header_bytes) {
    parser.header_limit(static_cast<uint32_t>(limits.max_header_bytes));
    parser.body_limit(limits.max_body_bytes);
    parser.eager(true);
  }
  size_t max_pending_bytes;
  http::request_parser<TextBody> parser;
};

HttpParser::HttpParser(const HttpLimits& limits) : state_(std::make_unique<State>(limits)) {}
HttpParser::~HttpParser() = default;

std::expected<size_t, HttpResponse> HttpParser::put(std::string_view bytes) {
  auto& parser = state_->parser;
  size_t taken = 0;
  while (!parser.is_done() && taken < bytes.size()) {
    beast::error_code error;
    const size_t step =
        parser.put(boost::asio::const_buffer(bytes.data() + taken, bytes.size() - taken), error);
    taken += step;
    if (error == http::error::need_more) break;
    if (error) return std::unexpected(refusal(error));
    if (step == 0) break;
  }
  // A header, or the line before a chunk, that does not end.
  if (!parser.is_done() && bytes.size() - taken > state_->max_pending_bytes) {
    return std::unexpected(refusal(http::error::header_limit));
  }
  return taken;
}

bool HttpParser::header_done() const {
  return state_->parser.is_header_done();
}

bool HttpParser::done() const {
  return state_->parser.is_done();
}

size_t HttpParser::body_bytes() const {
  return state_->parser.get().body().size();
}

bool HttpParser::expects_continue() const {
  return header_done() && !done() &&
         beast::iequals(state_->parser.get()[http::field::expect], "100-continue");
}

bool HttpParser::keep_alive() const {
  return header_done() && state_->parser.keep_alive();
}

bool HttpParser::understands_chunks() const {
  return header_done() && state_->parser.get().version() >= 11;
}

Status HttpParser::take(HttpRequest& request) {
  HF_CHECK(done(), "a request is taken when it is whole");
  http::request<TextBody> parsed = state_->parser.release();
  const auto hosts = parsed.count(http::field::host);
  if (hosts > 1 || (hosts == 0 && parsed.version() >= 11)) {
    return absl::InvalidArgumentError("an HTTP/1.1 request has one Host header");
  }
  TRY(request.target, parse_target(to_std(parsed.target())));
  request.method = to_std(parsed.method_string());
  request.headers.clear();
  for (const auto& field : parsed) {
    const std::string name = absl::AsciiStrToLower(
        absl::string_view(field.name_string().data(), field.name_string().size()));
    const bool kept = std::ranges::find(kKept, name) != std::end(kKept);
    if (kept) request.headers[name] = to_std(field.value());
  }
  request.body = std::move(parsed.body());
  return absl::OkStatus();
}

}  // namespace holdfast::net

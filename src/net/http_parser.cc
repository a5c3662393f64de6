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

constexpr int kMaxPassedOver = 8;  // answers before the answer
constexpr std::string_view kHttp10 = "HTTP/1.0";
constexpr std::string_view kHttp11 = "HTTP/1.1";

std::string_view to_std(beast::string_view text) {
  return {text.data(), text.size()};
}

// Beast calls everything a bad version that stands where the version should; this one is a version,
// but none of ours. Requires: a request line up to there.
bool names_another_version(std::string_view line) {
  constexpr std::string_view kDigits = "0123456789";
  const size_t target = line.find(' ') + 1;
  const std::string_view version = line.substr(line.find(' ', target) + 1, kHttp11.size());
  return version.size() == kHttp11.size() && version.starts_with("HTTP/") &&
         kDigits.contains(version[5]) && version[6] == '.' && kDigits.contains(version[7]) &&
         version != kHttp10 && version != kHttp11;
}

HttpResponse refusal(const beast::error_code& error, std::string_view bytes) {
  if (error == http::error::header_limit) {
    return http_error(431, "HF6031", "the request's header is too large");
  }
  if (error == http::error::body_limit) {
    return http_error(413, "HF6032", "the request's body is too large");
  }
  if (error == http::error::bad_version && names_another_version(bytes)) {
    return http_error(505, "HF6030", "this server speaks HTTP/1.0 and HTTP/1.1");
  }
  return http_error(400, "HF6030", "the request is not well-formed HTTP/1.0 or HTTP/1.1");
}

Status unreadable(const beast::error_code& error) {
  if (error == http::error::header_limit) {
    return absl::ResourceExhaustedError("the answer's header is too large");
  }
  if (error == http::error::body_limit) {
    return absl::ResourceExhaustedError("the answer's body is too large");
  }
  if (error == http::error::partial_message || error == http::error::end_of_stream) {
    return absl::DataLossError("the connection ended within the answer");
  }
  return absl::DataLossError("the answer is not well-formed HTTP/1.1");
}

// Bytes into either of Beast's parsers: how many it took, until it is done or wants more.
template <typename Parser>
size_t feed(Parser& parser, std::string_view bytes, beast::error_code& error) {
  size_t taken = 0;
  while (!parser.is_done() && taken < bytes.size()) {
    const size_t step =
        parser.put(boost::asio::const_buffer(bytes.data() + taken, bytes.size() - taken), error);
    taken += step;
    if (error == http::error::need_more) {
      error = {};
      break;
    }
    if (error || step == 0) break;
  }
  return taken;
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
  beast::error_code error;
  const size_t taken = feed(parser, bytes, error);
  if (error) return std::unexpected(refusal(error, bytes));
  // A header, or the line before a chunk, that does not end.
  if (!parser.is_done() && bytes.size() - taken > state_->max_pending_bytes) {
    return std::unexpected(refusal(http::error::header_limit, bytes));
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

Status HttpParser::take(HttpRequest& request, Target target) {
  HF_CHECK(done(), "a request is taken when it is whole");
  http::request<TextBody> parsed = state_->parser.release();
  const auto hosts = parsed.count(http::field::host);
  if (hosts > 1 || (hosts == 0 && parsed.version() >= 11)) {
    return absl::InvalidArgumentError("an HTTP/1.1 request has one Host header");
  }
  if (target == Target::Raw) {
    request.raw_target = to_std(parsed.target());
  } else {
    TRY(request.target, parse_target(to_std(parsed.target())));
  }
  request.method = to_std(parsed.method_string());
  request.headers.clear();
  for (const auto& field : parsed) {
    const std::string name = absl::AsciiStrToLower(
        absl::string_view(field.name_string().data(), field.name_string().size()));
    const bool kept = std::ranges::find(kKept, name) != std::end(kKept);
    if (!kept) continue;
    const auto [at, first] = request.headers.try_emplace(name, to_std(field.value()));
    if (!first) at->second.append(", ").append(to_std(field.value()));
  }
  request.body = std::move(parsed.body());
  return absl::OkStatus();
}

struct HttpAnswerParser::State {
  http::response_parser<TextBody> parser;
};

HttpAnswerParser::HttpAnswerParser(const HttpLimits& limits, bool to_head)
    : limits_(limits), to_head_(to_head) {
  begin();
}
HttpAnswerParser::~HttpAnswerParser() = default;

void HttpAnswerParser::begin() {
  state_ = std::make_unique<State>();
  state_->parser.header_limit(static_cast<uint32_t>(limits_.max_header_bytes));
  state_->parser.body_limit(limits_.max_body_bytes);
  state_->parser.eager(true);
  state_->parser.skip(to_head_);
}

Result<size_t> HttpAnswerParser::put(std::string_view bytes) {
  size_t taken = 0;
  for (;;) {
    beast::error_code error;
    taken += feed(state_->parser, bytes.substr(taken), error);
    if (error) return unreadable(error);
    if (state_->parser.is_header_done() && state_->parser.get().result_int() < 100) {
      return absl::DataLossError("the answer has a status that is none");
    }
    if (!state_->parser.is_done() && bytes.size() - taken > limits_.max_header_bytes) {
      return unreadable(http::error::header_limit);
    }
    if (!state_->parser.is_done() || state_->parser.get().result_int() >= 200) return taken;
    passed_over_ += 1;
    if (passed_over_ > kMaxPassedOver || state_->parser.get().result_int() == 101) {
      return absl::DataLossError("the answer is not one to this request");
    }
    begin();
  }
}

Status HttpAnswerParser::end() {
  beast::error_code error;
  state_->parser.put_eof(error);
  return error ? unreadable(error) : absl::OkStatus();
}

bool HttpAnswerParser::done() const {
  return state_->parser.is_done();
}

bool HttpAnswerParser::keep_alive() const {
  HF_CHECK(done(), "an answer says how its connection goes on when it is whole");
  return state_->parser.keep_alive();
}

HttpAnswer HttpAnswerParser::take() {
  HF_CHECK(done(), "an answer is taken when it is whole");
  http::response<TextBody> parsed = state_->parser.release();
  HttpAnswer answer{.status = static_cast<int>(parsed.result_int())};
  for (const auto& field : parsed) {
    const absl::string_view name(field.name_string().data(), field.name_string().size());
    std::string& value = answer.headers[absl::AsciiStrToLower(name)];
    if (!value.empty()) value += ", ";
    value += to_std(field.value());
  }
  answer.body = std::move(parsed.body());
  return answer;
}

}  // namespace holdfast::net

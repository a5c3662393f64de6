#include "ingress/refusal.h"

#include "base/reason.h"
#include "resource/text_escape.h"

namespace holdfast::ingress {
namespace {

int status_of(const Status& why, Asked asked) {
  switch (why.code()) {
    case absl::StatusCode::kInvalidArgument:
      return 400;
    case absl::StatusCode::kUnauthenticated:
      return asked == Asked::Connect ? 407 : 401;
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kOutOfRange:
      return 431;
    case absl::StatusCode::kUnavailable:
      return split_reason(why).code == "HF2203" ? 502 : 503;
    case absl::StatusCode::kResourceExhausted:
      return 503;
    case absl::StatusCode::kDeadlineExceeded:
      return 504;
    default:
      return 502;
  }
}

// What anybody may know: which agents were asked, and what stands behind them, comes after a
// bracket.
std::string_view without_detail(std::string_view message) {
  return message.substr(0, message.find(" ("));
}

}  // namespace

net::HttpResponse refusal(const Status& why, Asked asked) {
  const Reason reason = split_reason(why);
  net::HttpResponse response{.status = status_of(why, asked)};
  response.body = R"({"error":{"code":)";
  resource::append_escaped(response.body, reason.code);
  response.body += R"(,"message":)";
  const bool known = asked == Asked::Connect;  // by a certificate
  resource::append_escaped(response.body, known ? std::string(reason.message)
                                                : std::string(without_detail(reason.message)));
  response.body += "}}\n";
  if (response.status == 407) response.headers.emplace_back("Proxy-Authenticate", "Certificate");
  if (response.status == 401) response.headers.emplace_back("WWW-Authenticate", "Certificate");
  if (response.status == 503) response.headers.emplace_back("Retry-After", "1");
  return response;
}

}  // namespace holdfast::ingress

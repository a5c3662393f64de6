#include "app/node_calls.h"

#include <algorithm>

#include "base/reason.h"
#include "resource/decode.h"
#include "resource/proto_time.h"
#include "web/answer.h"
#include "web/request.h"

namespace holdfast::app {
namespace {

constexpr Duration kLongestDrain = std::chrono::hours(24);

bool is_call(const net::HttpRequest& request, std::string_view name) {
  const std::vector<std::string>& path = request.target.segments;
  return path.size() == 2 && path[0] == "v1" && path[1] == name;
}

Status wrong_body(std::string_view why) {
  return coded(
      absl::StatusCode::kInvalidArgument, "HF6010",
      std::string("the body is not {\"timeout\":\"5m\",\"now\":false}: ") + std::string(why));
}

Result<v1::DrainRequest> drain_request(const net::HttpRequest& request) {
  v1::DrainRequest out;
  if (request.body.empty()) return out;
  const auto body = resource::read_json(request.body);
  if (!body) return wrong_body(body.error().message);
  const auto decoded =
      resource::decode_message(*body, {.path = "", .strings = resource::Strings::Quoted}, out);
  if (!decoded) return wrong_body(decoded.error().message);
  const Duration timeout = resource::to_duration(out.timeout());
  if (timeout < Duration::zero() || timeout > kLongestDrain) return wrong_body("use up to 24h");
  return out;
}

Result<net::HttpResponse> drain(NodePart& part, const net::HttpRequest& request) {
  // A page elsewhere on the web can make a browser send other forms with its user's certificate.
  const auto type = request.headers.find("content-type");
  if (type == request.headers.end() || !web::is_readable_type(type->second)) {
    return net::http_error(415, "HF6036", "send Content-Type application/json");
  }
  TRY(const v1::DrainRequest asked, drain_request(request));
  TRY_OK(part.drain(asked));
  net::HttpResponse response = web::message_answer(part.drain_status());
  response.status = 202;
  return response;
}

}  // namespace

bool is_node_call(const net::HttpRequest& request) {
  return is_call(request, "tunnels") || is_call(request, "drain");
}

bool changes_node(const net::HttpRequest& request) {
  return request.method != "GET" && request.method != "HEAD";
}

Result<net::HttpResponse> answer_node_call(NodePart& part, const net::HttpRequest& request) {
  if (!is_node_call(request)) {
    return coded(absl::StatusCode::kNotFound, "HF6034", "there is nothing at this path");
  }
  if (request.method == "POST" && is_call(request, "drain")) return drain(part, request);
  if (changes_node(request)) {
    return net::http_error(405, "HF6035", "this path has no such method");
  }
  if (is_call(request, "tunnels")) return web::message_answer(part.tunnels());
  return web::message_answer(part.drain_status());
}

}  // namespace holdfast::app

#include "web/answer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/reason.h"
#include "resource/codec.h"
#include "resource/encode.h"
#include "web/json.h"

namespace holdfast::web {
namespace {

using resource::Node;
using std::string_view;

net::HttpResponse json_answer(int status, std::string json) {
  net::HttpResponse response;
  response.status = status;
  response.body = std::move(json) + "\n";
  return response;
}

// The same codes as the command line gives.
string_view code_of_kind(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kUnavailable:
      return "HF1021";
    case absl::StatusCode::kDeadlineExceeded:
      return "HF1002";
    case absl::StatusCode::kInvalidArgument:
      return "HF6010";
    case absl::StatusCode::kUnimplemented:
      return "HF6011";
    case absl::StatusCode::kNotFound:
      return "HF6020";
    case absl::StatusCode::kAlreadyExists:
      return "HF6021";
    case absl::StatusCode::kAborted:
      return "HF6022";
    case absl::StatusCode::kOutOfRange:
      return "HF6023";
    case absl::StatusCode::kPermissionDenied:
      return "HF5001";
    case absl::StatusCode::kUnauthenticated:
      return "HF5002";
    case absl::StatusCode::kResourceExhausted:
      return "HF1020";
    case absl::StatusCode::kCancelled:
      return "HF1003";
    default:
      return "HF1099";
  }
}

bool has_reason(const health::Component& component) {
  return component.state != health::State::Ok && !component.code.empty();
}

Node component_node(const health::Component& component, const Moment& moment) {
  const auto ago = std::chrono::duration_cast<WallTime::duration>(moment.now - component.since);
  Node node = Node::mapping();
  add(node, "name", text(component.name));
  add(node, "status", text(health::to_string(component.state)));
  add(node, "since", text(to_rfc3339(moment.wall_now - ago)));
  if (!component.code.empty()) add(node, "code", text(component.code));
  if (!component.reason.empty()) add(node, "reason", text(component.reason));
  return node;
}

}  // namespace

int http_status(const Status& status) {
  constexpr string_view kTooLarge = "HF6003";
  if (split_reason(status).code == kTooLarge) return 413;
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return 200;
    case absl::StatusCode::kInvalidArgument:
      return 400;
    case absl::StatusCode::kUnauthenticated:
      return 401;
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kFailedPrecondition:
      return 409;
    case absl::StatusCode::kOutOfRange:
      return 410;
    case absl::StatusCode::kAborted:
      return 412;
    case absl::StatusCode::kResourceExhausted:
      return 429;
    case absl::StatusCode::kUnimplemented:
      return 501;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kCancelled:  // only a server that stops cancels
      return 503;
    case absl::StatusCode::kDeadlineExceeded:
      return 504;
    default:
      return 500;
  }
}

std::string error_json(const Status& status) {
  const Reason reason = split_reason(status);
  Node error = Node::mapping();
  add(error, "code", text(reason.code.empty() ? code_of_kind(status.code()) : reason.code));
  add(error, "message", text(reason.message));
  Node body = Node::mapping();
  add(body, "error", std::move(error));
  return resource::write_json(body);
}

net::HttpResponse error_answer(const Status& status) {
  net::HttpResponse response = json_answer(http_status(status), error_json(status));
  if (response.status == 429) response.headers.emplace_back("Retry-After", "1");
  return response;
}

net::HttpResponse resource_answer(const v1::Resource& resource, int status) {
  net::HttpResponse response = json_answer(status, resource::to_json(resource));
  response.headers.emplace_back("ETag", fmt::format("\"{}\"", resource.metadata().revision()));
  return response;
}

net::HttpResponse list_answer(const v1::ListResponse& list) {
  Node metadata = Node::mapping();
  add(metadata, "revision", plain(fmt::format("{}", list.revision())));
  if (!list.next_page_token().empty()) {
    add(metadata, "next_page_token", text(list.next_page_token()));
  }
  std::string json = fmt::format(R"({{"apiVersion":"{}","kind":"list","metadata":{},"items":[)",
                                 resource::kApiVersion, resource::write_json(metadata));
  for (int i = 0; i < list.resources_size(); ++i) {
    if (i > 0) json += ',';
    json += resource::to_json(list.resources(i));
  }
  return json_answer(200, json + "]}");
}

net::HttpResponse message_answer(const google::protobuf::Message& message) {
  return json_answer(200, message_json(message));
}

net::HttpResponse ready_answer(health::State state, std::span<const health::Component> components,
                               const Moment& moment) {
  Node shown = Node::sequence();
  std::vector<std::string> codes;
  for (const health::Component& component : components) {
    shown.items.push_back(component_node(component, moment));
    if (has_reason(component)) codes.push_back(component.code);
  }
  std::ranges::sort(codes);
  const auto repeated = std::ranges::unique(codes);
  codes.erase(repeated.begin(), repeated.end());
  Node reasons = Node::sequence();
  for (const std::string& code : codes) reasons.items.push_back(text(code));
  Node body = Node::mapping();
  add(body, "status", text(health::to_string(state)));
  add(body, "components", std::move(shown));
  add(body, "reasons", std::move(reasons));
  return json_answer(state == health::State::Ok ? 200 : 503, resource::write_json(body));
}

net::HttpResponse component_answer(string_view name, std::span<const health::Component> components,
                                   const Moment& moment) {
  const auto found = std::ranges::find(components, name, &health::Component::name);
  if (found == components.end()) {
    return error_answer(coded(absl::StatusCode::kNotFound, "HF6034",
                              fmt::format("there is no component {}", in_quotes(name))));
  }
  return json_answer(found->state == health::State::Ok ? 200 : 503,
                     resource::write_json(component_node(*found, moment)));
}

}  // namespace holdfast::web

#include "cli/node_socket.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <filesystem>

#include "base/check.h"
#include "base/reason.h"
#include "cli/reasons.h"
#include "resource/decode.h"

namespace holdfast::cli {
namespace {

using resource::Node;

constexpr std::string_view kUnixScheme = "unix:";
constexpr std::string_view kSocketName = "node.sock";  // in a node's data folder

// Without what a newer node may say besides.
Node known_fields(const Node& node, const google::protobuf::Descriptor& type) {
  Node out = node;
  std::erase_if(out.members, [&](const resource::Member& member) {
    return type.FindFieldByName(member.key) == nullptr;
  });
  for (resource::Member& member : out.members) {
    const auto* below = type.FindFieldByName(member.key)->message_type();
    if (below == nullptr) continue;
    for (Node& item : member.value.items) item = known_fields(item, *below);
  }
  return out;
}

absl::StatusCode code_of(int status) {
  switch (status) {
    case 400:
      return absl::StatusCode::kInvalidArgument;
    case 401:
      return absl::StatusCode::kUnauthenticated;
    case 403:
      return absl::StatusCode::kPermissionDenied;
    case 404:
      return absl::StatusCode::kNotFound;
    case 409:
    case 412:
      return absl::StatusCode::kFailedPrecondition;
    default:
      return absl::StatusCode::kUnavailable;
  }
}

// {"error":{"code":"HF5001","message":"..."}}
Status error_of(const net::HttpAnswer& answer) {
  const auto root = resource::read_json(answer.body);
  const Node* error = root ? resource::find_member(*root, "error") : nullptr;
  const Node* code = error != nullptr ? resource::find_member(*error, "code") : nullptr;
  const Node* message = error != nullptr ? resource::find_member(*error, "message") : nullptr;
  if (code == nullptr || message == nullptr) {
    return absl::UnavailableError(fmt::format("it answers with status {}", answer.status));
  }
  return coded(code_of(answer.status), code->text, message->text);
}

}  // namespace

std::string socket_of(const std::string& node) {
  if (node.starts_with(kUnixScheme)) return node;
  std::error_code ignored;  // what is not there is said when it is dialled
  if (std::filesystem::is_directory(node, ignored)) {
    return fmt::format("{}{}", kUnixScheme, (std::filesystem::path(node) / kSocketName).string());
  }
  return fmt::format("{}{}", kUnixScheme, node);
}

Result<net::HttpAnswer> ask_http(const net::HttpClientOptions& options, const net::HttpCall& call) {
  boost::asio::io_context loop(1);
  net::HttpClient client(loop.get_executor(), options);
  Result<net::HttpAnswer> answer = absl::UnknownError("");
  boost::asio::co_spawn(loop, client.ask(call),
                        [&](const std::exception_ptr& thrown, Result<net::HttpAnswer> got) {
                          HF_CHECK(thrown == nullptr, "a client returns its failures");
                          answer = std::move(got);
                        });
  loop.run();
  return answer;
}

Status read_answer(const net::HttpAnswer& answer, google::protobuf::Message& into) {
  if (answer.status / 100 != 2) return error_of(answer);
  const auto root = resource::read_json(answer.body);
  const bool is_mapping = root && root->shape == Node::Shape::Mapping;
  const auto decoded = is_mapping ? resource::decode_message(
                                        known_fields(*root, *into.GetDescriptor()),
                                        {.path = "", .strings = resource::Strings::Quoted}, into)
                                  : resource::Parsed<void>();
  if (is_mapping && decoded) return absl::OkStatus();
  return absl::DataLossError("the answer is not what a node says");
}

Failure no_node(const Status& status) {
  const ReasonInfo& reason = *find_reason("HF1310");
  return {absl::IsDeadlineExceeded(status) ? Exit::TimedOut : Exit::NoController,
          std::string(reason.code),
          fmt::format("no node answers: {}", std::string(status.message())),
          std::string(reason.next)};
}

}  // namespace holdfast::cli

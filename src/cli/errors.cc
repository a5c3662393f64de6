#include "cli/errors.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/reason.h"
#include "cli/output.h"
#include "cli/reasons.h"
#include "resource/encode.h"

namespace holdfast::cli {
namespace {

// Without what gRPC says around the cause.
std::string cause(std::string message, std::string_view server) {
  constexpr std::string_view kLast = "last error: ";
  if (const size_t at = message.find(kLast); at != std::string::npos) {
    message.erase(0, at + kLast.size());
  }
  constexpr std::string_view kUnknown = "UNKNOWN: ";
  if (message.starts_with(kUnknown)) message.erase(0, kUnknown.size());
  const std::string again = fmt::format("{}: ", server);
  if (message.starts_with(again)) message.erase(0, again.size());
  // The end of a text that gRPC had in quotes.
  if (std::ranges::count(message, '"') % 2 == 1 && message.ends_with('"')) message.pop_back();
  return message;
}

// What gRPC says when the server's certificate is signed by another, or names another.
bool is_distrust(std::string_view message) {
  return message.contains("CERTIFICATE_VERIFY_FAILED") ||
         message.contains("certificate verify failed") ||
         message.contains("is not in peer certificate");
}

Failure unavailable(const std::string& message, const Asked& asked) {
  if (asked.answered) {
    return {Exit::Failed, "HF1021", fmt::format("the controller cannot do it now: {}", message),
            "look at the controller's log; if it says \"outcome unknown\", read before you retry"};
  }
  if (is_distrust(message)) {
    return {Exit::NoController, "HF5004",
            fmt::format("{} shows a certificate that the authority of this profile did not sign, "
                        "or one that is no controller's",
                        asked.server),
            "is it another cluster's? Log in again with its pin"};
  }
  if (message.contains("Permission denied")) {
    return {Exit::NoController, "HF1001",
            fmt::format("no controller at {}: {}", asked.server, cause(message, asked.server)),
            "its socket is for its owner: run this as that user, or log in and use --server "
            "HOST:PORT"};
  }
  return {Exit::NoController, "HF1001",
          fmt::format("no controller at {}: {}", asked.server, cause(message, asked.server)),
          "start one with `holdfastd controller`, or name another with --server"};
}

// By the status alone.
Failure by_status(const Status& status, const Asked& asked) {
  const std::string message(status.message());
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
      return unavailable(message, asked);
    case absl::StatusCode::kDeadlineExceeded:
      return {Exit::TimedOut, "HF1002", fmt::format("no answer from {} in time", asked.server),
              "is the controller running? Wait longer with --timeout, or name another with "
              "--server"};
    case absl::StatusCode::kInvalidArgument:
      return {Exit::BadInput, "HF6010", message, ""};
    case absl::StatusCode::kUnimplemented:
      return {Exit::Failed, "HF6011",
              message.empty() ? "the controller does not know this call" : message,
              "the controller may be older than this command"};
    case absl::StatusCode::kNotFound:
      return {Exit::Failed, "HF6020", message, "list what there is with `holdfast get KIND`"};
    case absl::StatusCode::kAlreadyExists:
      return {Exit::Failed, "HF6021", message, ""};
    case absl::StatusCode::kAborted:
      return {Exit::Failed, "HF6022", message, "read it again with `holdfast get`, then retry"};
    case absl::StatusCode::kOutOfRange:
      return {Exit::Failed, "HF6023", message, ""};
    case absl::StatusCode::kUnauthenticated:
      return {Exit::NotPermitted, "HF5002", message, "log in with `holdfast login`"};
    case absl::StatusCode::kPermissionDenied:
      return {Exit::NotPermitted, "HF5001", message, "see who you are with `holdfast whoami`"};
    case absl::StatusCode::kResourceExhausted:
      return {Exit::Failed, "HF1020", message, "free what is full, or try again later"};
    case absl::StatusCode::kCancelled:
      return {Exit::Interrupted, "HF1003", message, ""};
    default:
      return {Exit::Failed, "HF1099", status.ToString(), ""};
  }
}

}  // namespace

Failure explain(const Status& status, const Asked& asked) {
  Failure failure = by_status(status, asked);
  const Reason reason = split_reason(status);
  if (reason.code.empty()) return failure;
  // Our own link says that it has no connection; here more is known about it.
  if (reason.code == "HF1301") {
    return by_status(Status(status.code(), std::string(reason.message)), asked);
  }
  // What carries a code was said by the controller, so it is there.
  if (failure.exit == Exit::NoController) failure.exit = Exit::Failed;
  failure.code = std::string(reason.code);
  failure.message = std::string(reason.message);
  failure.next.clear();
  if (const ReasonInfo* known = find_reason(reason.code)) failure.next = std::string(known->next);
  return failure;
}

std::string to_text(const Failure& failure) {
  std::string text = fmt::format("error {}: {}\n", failure.code, printable(failure.message));
  if (!failure.next.empty()) text += fmt::format("  next: {}\n", failure.next);
  return text;
}

std::string to_json(const Failure& failure) {
  using resource::Node;
  Node error = Node::mapping();
  error.members.push_back({.key = "code", .value = Node::scalar(failure.code, true)});
  error.members.push_back({.key = "message", .value = Node::scalar(failure.message, true)});
  if (!failure.next.empty()) {
    error.members.push_back({.key = "next", .value = Node::scalar(failure.next, true)});
  }
  Node document = Node::mapping();
  document.members.push_back({.key = "error", .value = std::move(error)});
  return resource::write_json(document) + "\n";
}

Exit report(const Failure& failure) {
  print_err(to_text(failure));
  return failure.exit;
}

}  // namespace holdfast::cli

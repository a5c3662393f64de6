#include "cli/errors.h"

#include <fmt/format.h>

#include "cli/output.h"

namespace holdfast::cli {

Failure explain(const Status& status, const Asked& asked) {
  const std::string message(status.message());
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
      if (asked.answered) {
        return {Exit::Failed, "HF1021", fmt::format("the controller cannot do it now: {}", message),
                "look at the controller's log; if it says \"outcome unknown\", read before you "
                "retry"};
      }
      return {Exit::NoController, "HF1001",
              fmt::format("no controller at {}: {}", asked.server, message),
              "start one with `holdfastd controller`, or name another with --server"};
    case absl::StatusCode::kDeadlineExceeded:
      return {Exit::TimedOut, "HF1002", fmt::format("no answer from {} in time", asked.server),
              "is the controller running? Wait longer with --timeout, or name another with "
              "--server"};
    case absl::StatusCode::kInvalidArgument:
      return {Exit::BadInput, "HF6010", message, ""};
    case absl::StatusCode::kUnimplemented:
      return {Exit::Failed, "HF6011", message, "the controller may be older than this command"};
    case absl::StatusCode::kNotFound:
      return {Exit::Failed, "HF6020", message, "list what there is with `holdfast get KIND`"};
    case absl::StatusCode::kAlreadyExists:
      return {Exit::Failed, "HF6021", message, ""};
    case absl::StatusCode::kAborted:
      return {Exit::Failed, "HF6022", message, "read it again with `holdfast get`, then retry"};
    case absl::StatusCode::kOutOfRange:
      return {Exit::Failed, "HF6023", message, ""};
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return {Exit::NotPermitted, "HF5001", message, ""};
    case absl::StatusCode::kResourceExhausted:
      return {Exit::Failed, "HF1020", message, "free what is full, or try again later"};
    case absl::StatusCode::kCancelled:
      return {Exit::Interrupted, "HF1003", message, ""};
    default:
      return {Exit::Failed, "HF1099", status.ToString(), ""};
  }
}

Exit report(const Failure& failure) {
  print_err(fmt::format("error {}: {}\n", failure.code, failure.message));
  if (!failure.next.empty()) print_err(fmt::format("  next: {}\n", failure.next));
  return failure.exit;
}

}  // namespace holdfast::cli

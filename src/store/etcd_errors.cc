#include "store/etcd_errors.h"

namespace holdfast::store {
namespace {

bool says(const Status& status, absl::StatusCode code, std::string_view words) {
  const std::string_view message(status.message().data(), status.message().size());
  return status.code() == code && message.find(words) != std::string_view::npos;
}

}  // namespace

bool etcd_may_recover(const Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kInternal:
      return true;
    default:
      return false;
  }
}

bool etcd_refused_token(const Status& status) {
  return says(status, absl::StatusCode::kUnauthenticated, "invalid auth token") ||
         says(status, absl::StatusCode::kInvalidArgument, "revision of auth store is old");
}

bool etcd_lost_lease(const Status& status) {
  return says(status, absl::StatusCode::kNotFound, "lease not found");
}

bool etcd_compacted(const Status& status) {
  return says(status, absl::StatusCode::kOutOfRange, "has been compacted");
}

}  // namespace holdfast::store

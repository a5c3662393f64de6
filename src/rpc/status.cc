#include "rpc/status.h"

namespace holdfast::rpc {

Status from_grpc(const grpc::Status& status) {
  const int code = status.error_code();
  const bool known = code >= 0 && code <= grpc::StatusCode::UNAUTHENTICATED;
  return Status(known ? static_cast<absl::StatusCode>(code) : absl::StatusCode::kUnknown,
                status.error_message());
}

grpc::Status to_grpc(const Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

}  // namespace holdfast::rpc

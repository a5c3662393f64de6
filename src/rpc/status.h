// gRPC's status and ours. The codes are the same numbers, so nothing is lost either way; details
// beyond code and message are dropped.
#pragma once

#include <grpcpp/support/status.h>

#include "base/result.h"

namespace holdfast::rpc {

// A code that gRPC does not know, from a foreign peer, becomes kUnknown.
Status from_grpc(const grpc::Status& status);
grpc::Status to_grpc(const Status& status);

}  // namespace holdfast::rpc

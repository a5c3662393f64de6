// Server reflection (grpc.reflection.v1alpha), so that grpcurl and its like can list and call the
// services. gRPC's own has no way to ask who is calling; this one goes through the gate.
#pragma once

#include <string>
#include <vector>

#include "grpc/reflection/v1alpha/reflection.pb.h"

namespace holdfast::api {

using ReflectionRequest = grpc::reflection::v1alpha::ServerReflectionRequest;
using ReflectionResponse = grpc::reflection::v1alpha::ServerReflectionResponse;

// Pure, from the descriptors compiled in. `services` are the names to list.
ReflectionResponse reflect(const ReflectionRequest& request,
                           const std::vector<std::string>& services);

}  // namespace holdfast::api

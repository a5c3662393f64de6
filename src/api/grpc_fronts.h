// gRPC's view of the services: one object per service of the protos, each call handed to a
// CallRoom. Nothing but names is here.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/grpc_call.h"
#include "api/health_streams.h"
#include "api/identity_service.h"
#include "api/load_service.h"
#include "api/node_service.h"
#include "api/pair_control_service.h"
#include "api/pair_fronts.h"
#include "api/resource_service.h"
#include "api/watch_streams.h"

namespace holdfast::api {

// What is served; all outlive the server.
struct GrpcServices {
  Gate& gate;
  ResourceService& resources;
  WatchStreams& watches;
  IdentityService& identity;
  NodeService& nodes;
  LoadService& load;
  HealthStreams& health;
  PairControlService& pair_control;
  DivergenceService& divergences;
  std::optional<PairParts> pair{};  // none: this controller is not one of a pair
  std::string own_name{};
};

std::vector<std::unique_ptr<grpc::Service>> make_fronts(CallRoom& room,
                                                        const GrpcServices& services);

}  // namespace holdfast::api

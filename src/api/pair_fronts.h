// gRPC's view of a pair: what its halves say to each other, what operators ask, and the witness.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>

#include "api/beat_streams.h"
#include "api/divergence_service.h"
#include "api/grpc_call.h"
#include "api/pair_control_service.h"
#include "ha/witness_service.h"

namespace holdfast::api {

// Of a controller that is one of a pair; all outlive the server.
struct PairParts {
  ha::PairService& pair;
  BeatStreams& beats;
};

std::unique_ptr<grpc::Service> make_pair_front(CallRoom& room, PairParts parts,
                                               std::string own_name);
std::unique_ptr<grpc::Service> make_pair_control_front(CallRoom& room, PairControlService& service,
                                                       DivergenceService& divergences);
std::unique_ptr<grpc::Service> make_witness_front(CallRoom& room, ha::WitnessService& service);

}  // namespace holdfast::api

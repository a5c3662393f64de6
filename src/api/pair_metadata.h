// What a controller of a pair says beside each answer: its epoch, and where it is served if not
// here.
#pragma once

#include <grpcpp/grpcpp.h>

#include "base/result.h"

namespace holdfast::ha {
class PairService;
}

namespace holdfast::api {

// The highest epoch that the caller knows of; 0 if it does not say.
uint64_t known_epoch(const grpc::CallbackServerContext& context);
// Before the answer, or the first message, is sent.
void add_epoch(const ha::PairService& pair, grpc::CallbackServerContext& context);
// The epoch, and after a refusal by this half its role and the address of the active one. Before
// Finish.
void add_pair_metadata(const ha::PairService& pair, const Status& status,
                       grpc::CallbackServerContext& context);
// As trailing metadata only.
void add_refusal(const ha::PairService& pair, const Status& status,
                 grpc::CallbackServerContext& context);

}  // namespace holdfast::api

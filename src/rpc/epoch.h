// What the halves of a pair say of themselves beside their answers, and what a client makes of it.
// Each tenure of the pair has an epoch, and every answer carries it: what comes with a lower one
// than was seen before is of a half whose time is over, and is not acted on.
#pragma once

#include <grpcpp/support/string_ref.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace holdfast::rpc {

// In the metadata, both ways: the server's own epoch; the highest that the client knows.
inline constexpr const char* kEpochKey = "holdfast-epoch";
// With a refusal: where the half is that serves.
inline constexpr const char* kActiveKey = "holdfast-active";
// With a health watch: how often the client wants to hear of the server, in milliseconds; and how
// often it will.
inline constexpr const char* kBeatKey = "holdfast-beat-ms";

using Metadata = std::multimap<grpc::string_ref, grpc::string_ref>;

// Zero if there is none, or it is no number.
uint64_t epoch_in(const Metadata& metadata);
// Zero if there is none, or it is not one that anybody would promise.
Duration beat_in(const Metadata& metadata);
// Empty if there is none, or it is no HOST:PORT.
std::string active_in(const Metadata& metadata);

// Whether this is what a half says that does not serve: HF4101, HF4105, HF4107, HF4108 or
// HF4301.
bool is_not_active(const Status& answer);

// What decides whether an epoch is over. Either may be empty: nothing is sent, everything is taken.
struct Fence {
  std::function<uint64_t()> highest{};  // zero: none was seen
  // Zero: the answer carried none. An error, HF4302, is what the caller gets instead of the answer.
  std::function<Status(uint64_t epoch)> admit{};
};

}  // namespace holdfast::rpc

#include "api/pair_metadata.h"

#include <charconv>
#include <string>

#include "base/reason.h"
#include "ha/pair_service.h"

namespace holdfast::api {
namespace {

constexpr const char* kEpoch = "holdfast-epoch";

}  // namespace

uint64_t known_epoch(const grpc::CallbackServerContext& context) {
  const auto found = context.client_metadata().find(kEpoch);
  if (found == context.client_metadata().end()) return 0;
  uint64_t epoch = 0;
  const grpc::string_ref text = found->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), epoch);
  return error == std::errc() && end == text.data() + text.size() ? epoch : 0;
}

void add_epoch(const ha::PairService& pair, grpc::CallbackServerContext& context) {
  context.AddInitialMetadata(kEpoch, std::to_string(pair.epoch()));
}

void add_refusal(const ha::PairService& pair, const Status& status,
                 grpc::CallbackServerContext& context) {
  if (status.ok() || !split_reason(status).code.starts_with("HF41")) return;
  const ha::Passage refused = pair.refusal();
  context.AddTrailingMetadata("holdfast-role", refused.role);
  if (!refused.active.empty()) context.AddTrailingMetadata("holdfast-active", refused.active);
}

void add_pair_metadata(const ha::PairService& pair, const Status& status,
                       grpc::CallbackServerContext& context) {
  add_epoch(pair, context);
  add_refusal(pair, status, context);
}

}  // namespace holdfast::api

#include "api/pair_control_service.h"

#include <fmt/format.h>

#include <utility>

#include "base/reason.h"
#include "ha/pair_service.h"

namespace holdfast::api {
namespace {

Status not_paired() {
  return coded(absl::StatusCode::kFailedPrecondition, "HF4122",
               "this controller is not one of a pair; see ha.peer in docs/configuration.md");
}

}  // namespace

asio::awaitable<Result<v1::PairStatus>> PairControlService::get_pair(Caller /*caller*/,
                                                                     v1::GetPairRequest) {
  if (pair_ == nullptr) co_return v1::PairStatus();
  co_return pair_->status();
}

asio::awaitable<Result<v1::SwitchOverResponse>> PairControlService::switch_over(
    Caller caller, v1::SwitchOverRequest /*request*/) {
  if (pair_ == nullptr) co_return not_paired();
  CO_TRY(v1::SwitchOverResponse done, co_await pair_->switch_over());
  audit_.change(record_of(caller, "switch-over", fmt::format("pair epoch {}", done.epoch())));
  co_return done;
}

asio::awaitable<Result<v1::PromoteResponse>> PairControlService::promote(
    Caller caller, v1::PromoteRequest request) {
  if (pair_ == nullptr) co_return not_paired();
  CO_TRY(v1::PromoteResponse done, co_await pair_->promote(std::move(request)));
  audit_.change(record_of(caller, "promote", fmt::format("pair epoch {}", done.epoch())));
  co_return done;
}

}  // namespace holdfast::api

#include "api/load_forward_service.h"

#include <fmt/format.h>

#include "api/resource_service.h"
#include "base/reason.h"
#include "holdfast/v1/load.grpc.pb.h"
#include "resource/registry.h"
#include "rpc/call.h"

namespace holdfast::api {
namespace {

using Methods = v1::Load::StubInterface::async_interface;

// Not kUnavailable: whoever reports would take its own controller for sick and leave it.
Status nobody(std::string_view why) {
  return coded(absl::StatusCode::kFailedPrecondition, "HF2404", why);
}

// What the other one says is passed on as it is; that it says nothing has a code of its own.
template <typename T>
Result<T> told(Result<T> answer) {
  const bool silent =
      absl::IsUnavailable(answer.status()) || absl::IsDeadlineExceeded(answer.status());
  if (!silent || !split_reason(answer.status()).code.empty()) return answer;
  return nobody("the controller that deals does not answer");
}

}  // namespace

void LoadForwardService::on_reset(const std::vector<store::Item>& items) {
  addresses_.clear();
  for (const store::Item& item : items) take(item);
}

void LoadForwardService::on_change(const store::Change& change) {
  if (change.type != store::Change::Type::Delete) return take(change.item);
  const std::optional<resource::StoreKey> key = resource::parse_store_key(change.item.key);
  if (key) addresses_.erase(key->name);
}

void LoadForwardService::take(const store::Item& item) {
  const Result<v1::Resource> controller = decode_item(item);
  if (!controller.ok()) return;
  addresses_[controller->metadata().name()] = controller->controller().address();
}

Result<LoadForwardService::Channel> LoadForwardService::channel() {
  const std::string dealer = asks_.dealer();
  const auto found = addresses_.find(dealer);
  if (dealer.empty()) return nobody("no controller deals now");
  if (found == addresses_.end() || found->second.empty()) {
    return nobody(fmt::format("where {} is, which deals, is not known", dealer));
  }
  TRY(rpc::TlsOptions tls, asks_.tls());
  if (channel_ == nullptr || address_ != found->second || certificate_ != tls.certificate_pem) {
    address_ = found->second;
    certificate_ = tls.certificate_pem;
    channel_ = rpc::make_channel(address_, {.tls = std::move(tls)});
  }
  return channel_;
}

asio::awaitable<Result<v1::LoadGrant>> LoadForwardService::report(v1::LoadReport report) {
  CO_TRY(const Channel to, channel());
  const auto stub = v1::Load::NewStub(to);
  co_return told(co_await rpc::call(*stub->async(), &Methods::Report, std::move(report),
                                    {.timeout = timeout_}));
}

asio::awaitable<Result<v1::GetLoadResponse>> LoadForwardService::get_load(
    v1::GetLoadRequest request) {
  CO_TRY(const Channel to, channel());
  const auto stub = v1::Load::NewStub(to);
  co_return told(co_await rpc::call(*stub->async(), &Methods::GetLoad, std::move(request),
                                    {.timeout = timeout_}));
}

}  // namespace holdfast::api

#include "api/pair_writes.h"

#include <optional>
#include <utility>
#include <vector>

#include "ha/pair_service.h"
#include "holdfast/v1/api.grpc.pb.h"
#include "resource/registry.h"
#include "rpc/call.h"

namespace holdfast::api {
namespace {

constexpr Duration kCallTimeout = std::chrono::seconds(5);

using Resources = v1::Resources::StubInterface::async_interface;

}  // namespace

asio::awaitable<Status> PairWrites::write(store::Operation operation) {
  if (!pair_.is_active()) co_return co_await ask_active(std::move(operation));
  std::vector<store::Operation> operations;
  operations.push_back(std::move(operation));
  co_return (co_await writes_.commit(std::move(operations))).status();
}

asio::awaitable<Status> PairWrites::ask_active(store::Operation operation) {
  const auto channel = pair_.peer_channel();
  const std::optional<resource::StoreKey> key = resource::parse_store_key(operation.key);
  if (channel == nullptr || !key) co_return pair_.refusal().status;
  const auto stub = v1::Resources::NewStub(channel);
  const rpc::CallOptions how{.timeout = kCallTimeout};
  if (operation.type == store::Operation::Type::Delete) {
    v1::DeleteRequest request;
    request.set_kind(std::string(resource::info(key->kind).name));
    request.set_name(key->name);
    request.set_revision(operation.revision);
    co_return (co_await rpc::call(*stub->async(), &Resources::Delete, std::move(request), how))
        .status();
  }
  v1::WriteRequest request;
  if (!request.mutable_resource()->ParseFromString(operation.value)) {
    co_return absl::DataLossError("a stored resource cannot be read");
  }
  if (operation.precondition == store::Precondition::Absent) {
    co_return (co_await rpc::call(*stub->async(), &Resources::Create, std::move(request), how))
        .status();
  }
  request.mutable_resource()->mutable_metadata()->set_revision(operation.revision);
  co_return (co_await rpc::call(*stub->async(), &Resources::Update, std::move(request), how))
      .status();
}

}  // namespace holdfast::api

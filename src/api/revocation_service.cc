#include "api/revocation_service.h"

#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/private_file.h"
#include "ha/pair_service.h"
#include "ha/quarantine_loader.h"
#include "holdfast/v1/api.grpc.pb.h"
#include "net/task_group.h"
#include "resource/registry.h"
#include "rpc/call.h"

namespace holdfast::api {
namespace {

constexpr Duration kLookEvery = std::chrono::seconds(1);
constexpr Duration kCallTimeout = std::chrono::seconds(5);

using Resources = v1::Resources::StubInterface::async_interface;

std::optional<v1::Resource> user_of(std::string_view value) {
  v1::Resource resource;
  const bool read = resource.ParseFromArray(value.data(), static_cast<int>(value.size()));
  return read && resource.has_user() ? std::optional(resource) : std::nullopt;
}

ha::RevocationRules rules() {
  return {.is_disabled =
              [](std::string_view, std::string_view value) {
                const std::optional<v1::Resource> user = user_of(value);
                return user && user->user().disabled();
              },
          .disable = [](std::string_view, const std::string& value) -> std::optional<std::string> {
            std::optional<v1::Resource> user = user_of(value);
            if (!user) return std::nullopt;
            user->mutable_user()->set_disabled(true);
            return user->SerializeAsString();
          }};
}

}  // namespace

asio::awaitable<void> RevocationService::run() {
  for (;;) {
    const bool slept = co_await net::pause(kLookEvery);
    if (!slept) co_return;
    for (const std::string& file : ha::quarantine_files(parts_.folder)) {
      const std::string done = parts_.folder + "/" + file + ".done";
      if (std::filesystem::exists(done)) continue;
      Status status = co_await go_through(file);
      if (status.ok()) status = write_private_file(done, "");
      if (!status.ok()) {
        log::debug("revocations wait", {{"file", file}, {"why", status.ToString()}});
      }
    }
  }
}

asio::awaitable<Status> RevocationService::go_through(std::string file) {
  CO_TRY(const ha::Quarantine quarantine, ha::load_quarantine(parts_.folder, file));
  // Nobody was told that the others happened.
  if (!quarantine.header.acknowledged) co_return absl::OkStatus();
  for (const ha::Revocation& revocation : ha::revocations(quarantine, rules())) {
    CO_TRY_OK(co_await apply(revocation));
  }
  co_return absl::OkStatus();
}

asio::awaitable<Status> RevocationService::apply(ha::Revocation revocation) {
  const Result<store::Item> found = co_await parts_.reads.get(revocation.key);
  if (!found.ok() && !absl::IsNotFound(found.status())) co_return found.status();
  const std::optional<store::Item> current = found.ok() ? std::optional(*found) : std::nullopt;
  std::optional<store::Operation> operation = ha::to_operation(revocation, current, rules());
  if (!operation) co_return absl::OkStatus();
  CO_TRY_OK(co_await write(*std::move(operation)));
  applied_ += 1;
  log::warn("taken away again, as in the history that was lost", {{"key", revocation.key}});
  co_return absl::OkStatus();
}

asio::awaitable<Status> RevocationService::write(store::Operation operation) {
  if (!parts_.pair.is_active()) co_return co_await ask_active(std::move(operation));
  std::vector<store::Operation> operations;
  operations.push_back(std::move(operation));
  co_return (co_await parts_.writes.commit(std::move(operations))).status();
}

asio::awaitable<Status> RevocationService::ask_active(store::Operation operation) {
  const auto channel = parts_.pair.peer_channel();
  const std::optional<resource::StoreKey> key = resource::parse_store_key(operation.key);
  if (channel == nullptr || !key) co_return absl::UnavailableError("nobody to ask");
  const auto stub = v1::Resources::NewStub(channel);
  if (operation.type == store::Operation::Type::Delete) {
    v1::DeleteRequest request;
    request.set_kind(std::string(resource::info(key->kind).name));
    request.set_name(key->name);
    request.set_revision(operation.revision);
    co_return (co_await rpc::call(*stub->async(), &Resources::Delete, std::move(request),
                                  {.timeout = kCallTimeout}))
        .status();
  }
  v1::WriteRequest request;
  if (!request.mutable_resource()->ParseFromString(operation.value)) {
    co_return absl::DataLossError("a stored user cannot be read");
  }
  request.mutable_resource()->mutable_metadata()->set_revision(operation.revision);
  co_return (co_await rpc::call(*stub->async(), &Resources::Update, std::move(request),
                                {.timeout = kCallTimeout}))
      .status();
}

}  // namespace holdfast::api

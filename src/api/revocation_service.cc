#include "api/revocation_service.h"

#include <optional>
#include <utility>

#include "base/log.h"
#include "ha/quarantine_loader.h"
#include "holdfast/v1/resource.pb.h"
#include "net/task_group.h"
#include "store/sqlite_store_thread.h"

namespace holdfast::api {
namespace {

constexpr Duration kLookEvery = std::chrono::seconds(1);

std::optional<v1::Resource> user_of(std::string_view value) {
  v1::Resource resource;
  const bool read = resource.ParseFromArray(value.data(), static_cast<int>(value.size()));
  return read && resource.has_user() ? std::optional(resource) : std::nullopt;
}

using Found = Result<std::vector<ha::Revocation>>;

Found find(const std::string& folder, const std::string& file) {
  TRY(const ha::Quarantine quarantine, ha::load_quarantine(folder, file));
  return ha::revocations(quarantine, revocation_rules());
}

}  // namespace

ha::RevocationRules revocation_rules() {
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

asio::awaitable<void> RevocationService::run() {
  while (co_await net::pause(kLookEvery)) co_await look();
}

asio::awaitable<void> RevocationService::look() {
  for (const std::string& file : ha::quarantine_files(parts_.folder)) {
    if (ha::is_gone_through(parts_.folder, file)) continue;
    Status status = co_await go_through(file);
    if (status.ok()) status = ha::set_gone_through(parts_.folder, file);
    if (!status.ok()) {
      log::debug("revocations wait", {{"file", file}, {"why", status.ToString()}});
    }
  }
}

asio::awaitable<Status> RevocationService::go_through(std::string file) {
  CO_TRY(const ha::QuarantineHeader header, ha::load_quarantine_header(parts_.folder, file));
  // Nobody was told that the others happened.
  if (!header.acknowledged) co_return absl::OkStatus();
  // The file is written before the copy is taken in. Until then the store shows the lost history,
  // in which everything is taken away already.
  if (parts_.replica.facts().head == header.head) {
    co_return absl::UnavailableError("the store still has the history that was lost");
  }
  if (!waiting_ || waiting_->file != file) {
    CO_TRY(std::vector<ha::Revocation> found,
           co_await store::run_on<Found>(
               parts_.worker, [folder = parts_.folder, file] { return find(folder, file); }));
    waiting_ = Waiting{.file = std::move(file), .revocations = std::move(found)};
  }
  for (const ha::Revocation& revocation : waiting_->revocations) {
    CO_TRY_OK(co_await apply(revocation));
  }
  waiting_.reset();
  co_return absl::OkStatus();
}

asio::awaitable<Status> RevocationService::apply(ha::Revocation revocation) {
  const Result<store::Item> found = co_await parts_.reads.get(revocation.key);
  if (!found.ok() && !absl::IsNotFound(found.status())) co_return found.status();
  const std::optional<store::Item> current = found.ok() ? std::optional(*found) : std::nullopt;
  std::optional<store::Operation> operation =
      ha::to_operation(revocation, current, revocation_rules());
  if (!operation) co_return absl::OkStatus();
  CO_TRY_OK(co_await parts_.write(*std::move(operation)));
  applied_ += 1;
  log::warn("taken away again, as in the history that was lost", {{"key", revocation.key}});
  co_return absl::OkStatus();
}

}  // namespace holdfast::api

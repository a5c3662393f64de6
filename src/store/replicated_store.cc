#include "store/replicated_store.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/check.h"
#include "base/reason.h"
#include "store/replicated_watch.h"

namespace holdfast::store {
namespace {

constexpr std::string_view kNotAcknowledged = "HF4115";

Status not_acknowledged(std::string_view what, const Status& why) {
  return coded(absl::StatusCode::kUnavailable, kNotAcknowledged,
               fmt::format("{}: {}", what, split_reason(why).message));
}

// Such a commit may change nothing and answer what a read would.
bool may_only_read(const std::vector<Operation>& operations) {
  return std::ranges::none_of(
      operations, [](const Operation& each) { return each.type == Operation::Type::Put; });
}

bool failed_precondition(const Status& status) {
  return absl::IsAborted(status) || absl::IsNotFound(status) || absl::IsAlreadyExists(status);
}

Status passive_meanwhile() {
  return absl::UnavailableError("this half was passive meanwhile");
}

}  // namespace

ReplicatedStore::~ReplicatedStore() {
  HF_CHECK(watches_.empty(), "a store outlives its watches");
}

asio::awaitable<Result<Item>> ReplicatedStore::get(std::string key) {
  const uint64_t activation = admission_.activation();
  // A range, for it says of which revision it is when the key is not there.
  RangeRequest request{.range = {.begin = key, .end = key + '\0'}, .limit = 1};
  CO_TRY(RangeResult read, co_await inner_.range(std::move(request)));
  const bool found = !read.items.empty();
  CO_TRY_OK(co_await settle(found ? read.items[0].revision : read.revision, activation));
  if (found) co_return std::move(read.items[0]);
  co_return absl::NotFoundError(fmt::format("key {} does not exist", in_quotes(key, 256)));
}

asio::awaitable<Result<RangeResult>> ReplicatedStore::range(RangeRequest request) {
  const uint64_t activation = admission_.activation();
  CO_TRY(RangeResult read, co_await inner_.range(std::move(request)));
  CO_TRY_OK(co_await settle(read.revision, activation));
  co_return read;
}

asio::awaitable<Result<Revision>> ReplicatedStore::commit(std::vector<Operation> operations) {
  CO_TRY_OK(admission_.may_write());
  const uint64_t activation = admission_.activation();
  const bool may_only_have_read = may_only_read(operations);
  const Result<Revision> written = co_await inner_.commit(std::move(operations));
  if (!written.ok()) co_return co_await failed(written.status(), activation);
  Status acknowledged = co_await admission_.acknowledged(*written);
  if (acknowledged.ok() && admission_.activation() != activation)
    acknowledged = passive_meanwhile();
  if (acknowledged.ok() && may_only_have_read) acknowledged = admission_.may_read();
  if (!acknowledged.ok()) co_return not_acknowledged("outcome unknown", acknowledged);
  co_return *written;
}

asio::awaitable<Status> ReplicatedStore::failed(Status why, uint64_t activation) {
  // The store follows another writer by now; the admission knows whom.
  if (absl::IsFailedPrecondition(why)) CO_TRY_OK(admission_.may_write());
  if (!failed_precondition(why)) co_return why;
  CO_TRY(const Revision read, co_await revision());
  CO_TRY_OK(co_await settle(read, activation));
  co_return why;
}

asio::awaitable<Result<std::unique_ptr<Watch>>> ReplicatedStore::watch(KeyRange range,
                                                                       Revision after) {
  CO_TRY_OK(admission_.may_read());
  const uint64_t activation = admission_.activation();
  CO_TRY(std::unique_ptr<Watch> inner, co_await inner_.watch(std::move(range), after));
  if (admission_.activation() != activation) co_return passive_meanwhile();
  co_return std::make_unique<ReplicatedWatch>(std::move(inner), admission_, watches_);
}

asio::awaitable<Result<size_t>> ReplicatedStore::expire(WallTime now, size_t limit) {
  CO_TRY_OK(admission_.may_write());
  co_return co_await inner_.expire(now, limit);
}

asio::awaitable<Status> ReplicatedStore::compact(Revision through) {
  CO_TRY_OK(admission_.may_write());
  co_return co_await inner_.compact(through);
}

void ReplicatedStore::end_watches(const Status& why) {
  for (ReplicatedWatch* watch : watches_) watch->end(why);
}

asio::awaitable<Status> ReplicatedStore::settle(Revision read, uint64_t activation) {
  CO_TRY_OK(admission_.may_read());
  const Status acknowledged = co_await admission_.acknowledged(read);
  CO_TRY_OK(admission_.may_read());
  if (!acknowledged.ok()) {
    co_return not_acknowledged("what was read is not acknowledged", acknowledged);
  }
  co_return admission_.activation() == activation ? absl::OkStatus() : passive_meanwhile();
}

asio::awaitable<Result<Revision>> ReplicatedStore::revision() {
  RangeRequest nothing{.range = {.begin = "a", .end = "a"}, .limit = 1};
  CO_TRY(const RangeResult read, co_await inner_.range(std::move(nothing)));
  co_return read.revision;
}

}  // namespace holdfast::store

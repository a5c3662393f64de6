#include "cache/copy_service.h"

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <utility>

#include "net/task_group.h"

namespace holdfast::cache {
namespace {

constexpr size_t kFreedAtOnce = 4'096;

// Runs `work` on `pool` and resumes the caller on its own executor with the answer. Cancelling the
// caller does not end it.
template <typename T, typename Work>
asio::awaitable<T> run_on(asio::thread_pool& pool, Work work) {
  co_return co_await asio::async_initiate<decltype(asio::use_awaitable), void(T)>(
      [&pool](auto handler, Work body) {
        auto executor = asio::get_associated_executor(handler);
        asio::post(pool, [handler = std::move(handler), body = std::move(body),
                          guard = asio::make_work_guard(executor)]() mutable {
          T answer = body();
          asio::post(guard.get_executor(),
                     [handler = std::move(handler), answer = std::move(answer)]() mutable {
                       std::move(handler)(std::move(answer));
                     });
        });
      },
      asio::use_awaitable, std::move(work));
}

// The worker may make tables of its own, as long as nobody else has a part of them yet.
Result<std::vector<KindCopy>> load_tables(const CopyPlace& place) {
  TRY(OpenedCopy opened, load_copy(place));
  std::vector<KindCopy> copies;
  for (OpenedKind& kind : opened.kinds) {
    KindCopy& copy = copies.emplace_back(KindCopy{.kind = kind.kind,
                                                  .with_secrets = kind.with_secrets,
                                                  .revision = kind.revision,
                                                  .newest = kind.newest,
                                                  .as_of = kind.as_of,
                                                  .items = Table()});
    for (Shared& item : kind.items) copy.items.put(std::move(item));
  }
  return copies;
}

KindToSeal to_seal(const KindCopy& copy) {
  KindToSeal kind{.kind = copy.kind,
                  .with_secrets = copy.with_secrets,
                  .revision = copy.revision,
                  .newest = copy.newest,
                  .as_of = copy.as_of,
                  .items = {}};
  kind.items.reserve(copy.items.size());
  copy.items.for_each([&](const Shared& item) {
    kind.items.push_back(item.get());
    return true;
  });
  return kind;
}

// Those tables may be the last of their generation; they are freed between other work.
asio::awaitable<void> free_slowly(std::vector<KindCopy>& copies) {
  for (KindCopy& copy : copies) {
    for (;;) {
      size_t budget = kFreedAtOnce;
      if (copy.items.dismantle(budget)) break;
      const bool slept = co_await net::pause(std::chrono::milliseconds(1));
      if (!slept) co_return;
    }
  }
}

}  // namespace

asio::awaitable<Result<std::vector<KindCopy>>> CopyService::load() {
  if (!enabled()) co_return absl::NotFoundError("no copy is kept");
  using Loaded = Result<std::vector<KindCopy>>;
  Loaded loaded = co_await run_on<Loaded>(worker_, [this] { return load_tables(place_); });
  if (!loaded.ok() && !absl::IsNotFound(loaded.status())) stats_.failed_loads += 1;
  co_return loaded;
}

asio::awaitable<Status> CopyService::save(std::vector<KindCopy> copies, WallTime now) {
  if (!enabled()) co_return absl::OkStatus();
  const Status status = co_await run_on<Status>(worker_, [this, now, &copies] {
    std::vector<KindToSeal> kinds;
    for (const KindCopy& copy : copies) kinds.push_back(to_seal(copy));
    return save_copy(place_, now, std::move(kinds));
  });
  (status.ok() ? stats_.saves : stats_.failed_saves) += 1;
  co_await free_slowly(copies);
  co_return status;
}

}  // namespace holdfast::cache

#include "api/tenure_service.h"

#include "base/log.h"
#include "net/within.h"

namespace holdfast::api {
namespace {

constexpr Duration kGoodbye = std::chrono::milliseconds(500);

// Another was faster, or took over: what we know of the store is out of date.
bool is_refusal(const Status& status) {
  return absl::IsAborted(status) || absl::IsNotFound(status) || absl::IsAlreadyExists(status);
}

}  // namespace

void TenureService::start() {
  if (options_.shared) tasks_.spawn(run());
}

asio::awaitable<void> TenureService::stop() {
  co_await tasks_.join();
  if (!options_.shared || !core_.ours()) co_return;
  const auto released = co_await net::within(kGoodbye, store_.commit(core_.release()),
                                             absl::DeadlineExceededError("too late"));
  if (!released.ok()) {
    log::info("another will wait for the end of the lease",
              {{"why", released.status().ToString()}});
  }
}

std::optional<std::vector<store::Operation>> TenureService::checks() const {
  if (!options_.shared) return std::vector<store::Operation>();
  if (!held()) return std::nullopt;
  return std::vector<store::Operation>{core_.check()};
}

std::string TenureService::holder() const {
  return options_.shared ? core_.holder() : options_.tenure.name;
}

asio::awaitable<void> TenureService::run() {
  bool held_before = false;
  for (bool slept = true; slept; slept = co_await net::pause(core_.pause())) {
    const bool ours = core_.ours();
    Status status = ours ? co_await renew() : co_await look();
    if (!ours && status.ok()) status = co_await try_take();
    if (is_refusal(status)) core_.doubt();
    note(held_before);
    held_before = held();
  }
}

asio::awaitable<Status> TenureService::look() {
  const Time asked_at = clock_.now();
  CO_TRY(const store::RangeResult found,
         co_await store_.range({store::prefix_range(kTasksKey), 2}));
  Tenure::Seen seen;
  for (const store::Item& item : found.items) {
    if (item.key == kTasksKey) seen.taken = item.revision;
    if (item.key == kTasksKey) seen.holder = item.value;
    if (item.key == kTasksBeatKey) seen.beat = item.revision;
  }
  core_.saw(seen, asked_at);
  co_return absl::OkStatus();
}

asio::awaitable<Status> TenureService::try_take() {
  const Time asked_at = clock_.now();
  std::vector<store::Operation> wanted = core_.take(asked_at);
  if (wanted.empty()) co_return absl::OkStatus();
  CO_TRY(const store::Revision revision, co_await store_.commit(std::move(wanted)));
  core_.took(revision, asked_at);
  co_return absl::OkStatus();
}

asio::awaitable<Status> TenureService::renew() {
  const Time asked_at = clock_.now();
  CO_TRY(const store::Revision revision, co_await store_.commit(core_.renewal()));
  core_.renewed(revision, asked_at);
  co_return absl::OkStatus();
}

void TenureService::note(bool held_before) {
  if (held() == held_before) return;
  if (held()) {
    stats_.taken += 1;
    log::info("this controller does what one alone does", {{"tasks", "marking nodes offline"}});
  } else {
    stats_.lost += 1;
    log::warn("this controller leaves to another what one alone does",
              {{"holder", core_.holder()}});
  }
}

}  // namespace holdfast::api

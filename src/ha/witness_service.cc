#include "ha/witness_service.h"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <utility>

#include "base/log.h"
#include "base/reason.h"
#include "ha/record_loader.h"
#include "ha/wire.h"
#include "net/within.h"
#include "store/sqlite_store_thread.h"

namespace holdfast::ha {
namespace {

Status disk_failed(const Status& why) {
  return coded(absl::StatusCode::kUnavailable, "HF4205",
               fmt::format("the witness cannot write its record, outcome unknown: {}",
                           std::string(why.message())));
}

}  // namespace

WitnessService::WitnessService(const asio::any_io_executor& loop, std::string path, Record record)
    : loop_(loop),
      path_(std::move(path)),
      record_(std::move(record)),
      free_(loop, asio::steady_timer::time_point::max()) {}

Result<std::unique_ptr<WitnessService>> WitnessService::open(const asio::any_io_executor& loop,
                                                             std::string path) {
  TRY(Record record, settle_record(path));
  return std::unique_ptr<WitnessService>(
      new WitnessService(loop, std::move(path), std::move(record)));
}

asio::awaitable<Status> WitnessService::find_out() {
  if (certain_) co_return absl::OkStatus();
  Result<Record> found =
      co_await store::run_on<Result<Record>>(disk_, [path = path_] { return settle_record(path); });
  if (!found.ok()) co_return disk_failed(found.status());
  record_ = *std::move(found);
  certain_ = true;
  co_return absl::OkStatus();
}

asio::awaitable<Status> WitnessService::save(Record record) {
  const Status saved = co_await store::run_on<Status>(
      disk_, [path = path_, record = std::move(record)] { return save_record(path, record); });
  const bool news = saved.ok() != written_.ok();
  written_ = saved.ok() ? saved : disk_failed(saved);
  if (saved.ok() && news) log::info("the witness's disk takes its record again");
  if (!saved.ok() && news) {
    log::error("the witness's record was not written", {{"why", saved.ToString()}});
  }
  co_return written_;
}

// What is on the disk, once more: nothing comes of it but that the disk is known to take it. Not
// beside a change, which it would undo.
asio::awaitable<void> WitnessService::try_disk() {
  if (written_.ok() || busy_ || !certain_ || record_.epoch == 0) co_return;
  busy_ = true;
  static_cast<void>(co_await save(record_));
  busy_ = false;
  free_.cancel();
}

asio::awaitable<Result<v1::WitnessRecord>> WitnessService::read() {
  stats_.reads += 1;
  CO_TRY_OK(co_await find_out());
  co_await try_disk();
  co_return to_proto(record_);
}

asio::awaitable<Result<v1::ChangeRecordResponse>> WitnessService::change(
    v1::ChangeRecordRequest request) {
  CO_TRY(RecordChange wanted, from_proto(request));
  if (const Status may = check_record(wanted.record); !may.ok()) {
    stats_.refused += 1;
    co_return may;
  }
  while (busy_) {
    co_await free_.async_wait(asio::as_tuple(asio::use_awaitable));
    const bool cancelled = co_await net::is_cancelled();
    if (cancelled) co_return absl::CancelledError("stopping");
  }
  busy_ = true;
  Result<v1::ChangeRecordResponse> changed = co_await change_next(std::move(wanted));
  busy_ = false;
  free_.cancel();
  co_return changed;
}

asio::awaitable<Result<v1::ChangeRecordResponse>> WitnessService::change_next(RecordChange wanted) {
  CO_TRY_OK(co_await find_out());
  const Status may = may_replace(record_, wanted);
  if (absl::IsInvalidArgument(may)) co_return may;
  v1::ChangeRecordResponse answer;
  answer.set_accepted(may.ok());
  if (may.ok()) {
    certain_ = false;
    const Status saved = co_await save(wanted.record);
    if (!saved.ok()) {
      stats_.failed += 1;
      co_return saved;
    }
    record_ = wanted.record;
    certain_ = true;
    log::info("the record changed", {{"epoch", record_.epoch},
                                     {"active", to_string(record_.active())},
                                     {"in_sync", record_.in_sync.bits()},
                                     {"forced", wanted.force}});
  } else {
    answer.set_why(std::string(may.message()));
  }
  (may.ok() ? stats_.accepted : stats_.refused) += 1;
  *answer.mutable_current() = to_proto(record_);
  co_return answer;
}

}  // namespace holdfast::ha

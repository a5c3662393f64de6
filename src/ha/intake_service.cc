#include "ha/intake_service.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <utility>
#include <vector>

#include "base/log.h"
#include "ha/shipping.h"
#include "ha/wire.h"
#include "net/within.h"

namespace holdfast::ha {
namespace {

Status overtaken() {
  return absl::AbortedError("entries that came after this copy are here already");
}

}  // namespace

IntakeService::IntakeService(const asio::any_io_executor& loop, store::Replica& replica,
                             IntakeHandlers handlers)
    : replica_(replica),
      handlers_(std::move(handlers)),
      free_(loop, asio::steady_timer::time_point::max()) {}

asio::awaitable<Result<v1::ReplicateResponse>> IntakeService::take(v1::ReplicateRequest request) {
  // A sender has one message on its way; after a broken connection the one of before may still be
  // on its way to the disk.
  while (busy_) {
    co_await free_.async_wait(asio::as_tuple(asio::use_awaitable));
    const bool cancelled = co_await net::is_cancelled();
    if (cancelled) co_return absl::CancelledError("stopping");
  }
  busy_ = true;
  Result<v1::ReplicateResponse> taken = co_await take_next(std::move(request));
  busy_ = false;
  note(taken.status());
  free_.cancel();
  co_return taken;
}

// What is over, or overtaken, or stopped, is nobody's trouble.
void IntakeService::note(const Status& status) {
  const bool common =
      absl::IsFailedPrecondition(status) || absl::IsAborted(status) || absl::IsCancelled(status);
  if (!common) obstacle_ = status;
}

asio::awaitable<Result<v1::ReplicateResponse>> IntakeService::take_next(
    v1::ReplicateRequest request) {
  CO_TRY_OK(handlers_.may_take(request.epoch()));
  if (request.has_copy()) {
    CO_TRY_OK(co_await add_page(request.epoch(), request.copy()));
  } else {
    CO_TRY_OK(co_await append(request));
  }
  v1::ReplicateResponse made = answer();
  if (request.has_copy()) made.set_next_page(request.copy().page() + 1);
  co_return made;
}

asio::awaitable<Status> IntakeService::append(const v1::ReplicateRequest& request) {
  const bool question = request.entries().empty();
  // A question raises the promise all the same: nothing older is taken after it.
  if (!question && from_proto(request.after()) != replica_.facts().head) co_return absl::OkStatus();
  std::vector<store::Entry> entries;
  entries.reserve(static_cast<size_t>(request.entries().size()));
  for (const v1::PairEntry& entry : request.entries()) entries.push_back(from_proto(entry));
  if (question) {
    CO_TRY_OK(co_await replica_.promise(request.epoch()));
    handlers_.on_promised(request.epoch());
    co_return absl::OkStatus();
  }
  const size_t count = entries.size();
  const Result<Head> head = co_await replica_.append(request.epoch(), std::move(entries));
  if (absl::IsDataLoss(head.status())) {
    log::warn("the other half's history has our epochs, and is another", {{"code", "HF4114"}});
    handlers_.on_unfit();
    co_return absl::OkStatus();  // the answer asks for a copy
  }
  CO_TRY_OK(head.status());
  stats_.entries += count;
  handlers_.on_appended(request.epoch(), *head);
  co_return absl::OkStatus();
}

asio::awaitable<Status> IntakeService::add_page(Epoch epoch, const v1::PairCopy& copy) {
  if (copy.page() == 0) {
    store::ReplicaFacts of;
    of.head = from_proto(copy.head());
    of.tenures = from_proto(copy.tenures());
    of.floor = of.head.revision;
    const Head mine = replica_.facts().head;
    if (is_too_late(of.head, epoch, mine)) co_return overtaken();
    CO_TRY_OK(co_await handlers_.before_copy(of));
    copying_ = {.id = copy.id(), .epoch = epoch, .head = of.head, .replaces = mine};
    log::info("taking a whole copy from the other half", {{"revision", of.head.revision}});
    CO_TRY_OK(co_await replica_.begin_copy(std::move(of)));
  }
  if (copying_.id != copy.id() || copying_.epoch != epoch || copying_.next_page != copy.page()) {
    co_return absl::AbortedError("this page does not continue the copy; begin again");
  }
  store::CopyPage page{.before = copying_.items, .items = {}, .last = copy.last()};
  page.items.reserve(static_cast<size_t>(copy.items().size()));
  for (const v1::PairItem& item : copy.items()) page.items.push_back(from_proto(item));
  const uint64_t count = page.items.size();
  CO_TRY_OK(co_await replica_.add_to_copy(std::move(page)));
  copying_.next_page += 1;
  copying_.items += count;
  if (!copy.last()) co_return absl::OkStatus();
  co_return co_await finish_copy(std::exchange(copying_, {}));
}

// While it came in this half may have been promoted, and written: it follows again, and what it has
// written since is kept first, by the next copy.
asio::awaitable<Status> IntakeService::finish_copy(Copying copy) {
  CO_TRY_OK(handlers_.may_take(copy.epoch));
  const Head mine = replica_.facts().head;
  if (is_too_late(copy.head, copy.epoch, mine)) co_return overtaken();
  if (mine != copy.replaces) co_return absl::AbortedError("written here meanwhile; begin again");
  CO_TRY(const Head head, co_await replica_.finish_copy(copy.epoch));
  stats_.copies += 1;
  log::info("the copy is here", {{"revision", head.revision}, {"epoch", head.epoch}});
  handlers_.on_appended(copy.epoch, head);
  co_return absl::OkStatus();
}

v1::ReplicateResponse IntakeService::answer() const {
  const store::ReplicaFacts& facts = replica_.facts();
  v1::ReplicateResponse made;
  *made.mutable_head() = to_proto(facts.head);
  made.set_store_id(facts.store_id);
  // What was written before the first tenure has no name that the other half could know.
  made.set_needs_copy(facts.tenures.empty() || handlers_.is_unfit());
  return made;
}

}  // namespace holdfast::ha

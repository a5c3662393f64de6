#include "ha/shipping_service.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <utility>

#include "base/log.h"
#include "ha/wire.h"
#include "net/task_group.h"
#include "net/within.h"
#include "rpc/call.h"

namespace holdfast::ha {

using Calls = v1::Pair::StubInterface::async_interface;

ShippingService::ShippingService(const asio::any_io_executor& loop, store::Replica& replica,
                                 ShippingOptions options, ShippingHandlers handlers)
    : replica_(replica),
      options_(options),
      handlers_(std::move(handlers)),
      woken_(loop, asio::steady_timer::time_point::max()) {}

void ShippingService::restart() {
  shipping_.restart();
  wake();
}

void ShippingService::on_beat(const Beat& beat, const Beat& mine) {
  shipping_.on_beat(beat, mine);
  wake();
}

asio::awaitable<void> ShippingService::run() {
  for (;;) {
    const bool cancelled = co_await net::is_cancelled();
    if (cancelled) co_return;
    const Epoch epoch = handlers_.epoch();
    const bool ready = epoch != 0 && handlers_.channel() != nullptr;
    const Shipment shipment = ready ? shipping_.next(replica_.facts()) : Shipment();
    if (shipment.kind == Shipment::Kind::Nothing) {
      co_await woken_.async_wait(asio::as_tuple(asio::use_awaitable));
    } else {
      co_await send(epoch, shipment);
    }
  }
}

asio::awaitable<void> ShippingService::send(Epoch epoch, Shipment shipment) {
  v1::ReplicateRequest request;
  request.set_epoch(epoch);
  request.set_store_id(replica_.facts().store_id);
  Result<v1::ReplicateResponse> answer = shipment.kind == Shipment::Kind::Copy
                                             ? co_await send_copy(std::move(request))
                                             : co_await send_entries(std::move(request), shipment);
  if (answer.ok()) {
    // A question is answered by a disk that takes nothing, too.
    if (shipment.kind != Shipment::Kind::Ask) failure_ = absl::OkStatus();
    const Head head = from_proto(answer->head());
    const ShipmentAnswer said{.head = head, .needs_copy = answer->needs_copy()};
    const bool fits = shipping_.on_answer(shipment.id, said, replica_.facts());
    // What a tenure of before sent proves nothing for this one.
    if (fits && handlers_.epoch() == epoch) handlers_.on_acked(head, answer->store_id());
    co_return;
  }
  stats_.failures += 1;
  shipping_.on_failure(shipment.id);
  // Who is of another epoch, or further already, has said so: that is no matter of its disk.
  const bool taken = absl::IsFailedPrecondition(answer.status()) ||
                     absl::IsAborted(answer.status()) || absl::IsCancelled(answer.status());
  if (!taken && handlers_.epoch() == epoch) handlers_.on_not_taken(answer.status());
  if (answer.status() != std::exchange(failure_, answer.status())) {
    log::warn("cannot send to the other half", {{"why", answer.status().ToString()}});
  }
  co_await net::pause(options_.rest);
}

asio::awaitable<Result<v1::ReplicateResponse>> ShippingService::send_entries(
    v1::ReplicateRequest request, Shipment shipment) {
  if (shipment.kind == Shipment::Kind::Entries) {
    *request.mutable_after() = to_proto(shipment.after);
    CO_TRY(const std::vector<store::Entry> entries,
           co_await replica_.entries(shipment.after.revision, options_.batch_bytes));
    for (const store::Entry& entry : entries) *request.add_entries() = to_proto(entry);
    stats_.batches += 1;
    stats_.entries += entries.size();
  }
  co_return co_await replicate(std::move(request));
}

asio::awaitable<Result<v1::ReplicateResponse>> ShippingService::send_copy(
    v1::ReplicateRequest request) {
  CO_TRY(store::ReplicaFacts of, co_await replica_.begin_reading());
  log::info("sending a whole copy to the other half", {{"revision", of.head.revision}});
  Result<v1::ReplicateResponse> answer = co_await send_pages(request, std::move(of));
  if (!answer.ok()) static_cast<void>(co_await replica_.end_reading());
  if (answer.ok())
    log::info("the other half has the copy", {{"revision", answer->head().revision()}});
  co_return answer;
}

asio::awaitable<Result<v1::ReplicateResponse>> ShippingService::send_pages(
    const v1::ReplicateRequest& request, store::ReplicaFacts of) {
  last_copy_ += 1;
  v1::ReplicateRequest message = request;
  for (uint64_t number = 0;; ++number) {
    CO_TRY(const store::CopyPage page, co_await replica_.read_page(options_.batch_bytes));
    v1::PairCopy& copy = *message.mutable_copy();
    copy.Clear();
    copy.set_id(last_copy_);
    copy.set_page(number);
    *copy.mutable_head() = to_proto(of.head);
    if (number == 0) add_tenures(of.tenures, of.tenures.size(), *copy.mutable_tenures());
    for (const store::Item& item : page.items) *copy.add_items() = to_proto(item);
    copy.set_last(page.last);
    CO_TRY(v1::ReplicateResponse answer, co_await replicate(message));
    if (page.last) co_return answer;
    if (answer.next_page() != number + 1) {
      co_return absl::AbortedError("the other half lost its place in the copy");
    }
  }
}

asio::awaitable<Result<v1::ReplicateResponse>> ShippingService::replicate(
    v1::ReplicateRequest request) {
  const std::shared_ptr<grpc::Channel> channel = handlers_.channel();
  if (channel == nullptr) co_return absl::UnavailableError("the other half is not connected");
  const std::unique_ptr<v1::Pair::Stub> stub = v1::Pair::NewStub(channel);
  co_return co_await rpc::call(*stub->async(), &Calls::Replicate, std::move(request),
                               {.timeout = options_.timeout});
}

}  // namespace holdfast::ha

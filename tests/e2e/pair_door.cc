#include "e2e/pair_door.h"

#include <absl/strings/numbers.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>

#include "rpc/status.h"

namespace holdfast::test {
namespace {

using Resources = v1::Resources::StubInterface::async_interface;
using WriteMethod = void (Resources::*)(grpc::ClientContext*, const v1::WriteRequest*,
                                        v1::Resource*, std::function<void(grpc::Status)>);

WriteMethod method_for(PairDoor::Write write) {
  return write == PairDoor::Write::Upsert ? static_cast<WriteMethod>(&Resources::Upsert)
                                          : static_cast<WriteMethod>(&Resources::Update);
}

uint64_t epoch_in(const grpc::ClientContext& context) {
  const auto& metadata = context.GetServerInitialMetadata();
  const auto found = metadata.find("holdfast-epoch");
  uint64_t epoch = 0;
  if (found == metadata.end()) return 0;
  const std::string text(found->second.data(), found->second.size());
  return absl::SimpleAtoi(text, &epoch) ? epoch : 0;
}

DoorAnswer answer_of(Result<v1::Resource> result) {
  if (!result.ok()) return {.status = result.status()};
  return {.resource = *std::move(result)};
}

}  // namespace

HalfDoor::HalfDoor(const std::string& address, rpc::TlsOptions tls, Duration timeout)
    : stub_(v1::Resources::NewStub(rpc::make_channel(
          address,
          {.tls = std::move(tls), .longest_reconnect_wait = std::chrono::milliseconds(200)}))),
      timeout_(timeout) {}

DoorAnswer HalfDoor::get(const v1::GetRequest& request) {
  grpc::ClientContext context;
  rpc::apply({.timeout = timeout_}, context);
  DoorAnswer answer;
  answer.status = rpc::from_grpc(stub_->Get(&context, request, &answer.resource));
  answer.epoch = epoch_in(context);
  return answer;
}

DoorAnswer HalfDoor::write(Write method, const v1::WriteRequest& request) {
  grpc::ClientContext context;
  rpc::apply({.timeout = timeout_}, context);
  DoorAnswer answer;
  answer.status =
      rpc::from_grpc(method == Write::Upsert ? stub_->Upsert(&context, request, &answer.resource)
                                             : stub_->Update(&context, request, &answer.resource));
  answer.epoch = epoch_in(context);
  return answer;
}

Status HalfDoor::remove(const v1::DeleteRequest& request) {
  grpc::ClientContext context;
  rpc::apply({.timeout = timeout_}, context);
  v1::DeleteResponse response;
  return rpc::from_grpc(stub_->Delete(&context, request, &response));
}

FollowingDoor::FollowingDoor(FollowingOptions options)
    : options_(std::move(options)),
      work_(asio::make_work_guard(loop_)),
      link_(loop_.get_executor(), clock_, options_.addresses, {.tls = options_.tls}, options_.link),
      thread_([this] { loop_.run(); }) {
  on_loop([](rpc::PickHealthyService& link) -> asio::awaitable<bool> {
    link.start();
    co_return true;
  }(link_));
}

FollowingDoor::~FollowingDoor() {
  on_loop([](rpc::PickHealthyService& link) -> asio::awaitable<bool> {
    co_await link.stop();
    co_return true;
  }(link_));
  work_.reset();
  thread_.join();
}

template <typename T>
T FollowingDoor::on_loop(asio::awaitable<T> work) {
  return asio::co_spawn(loop_, std::move(work), asio::use_future).get();
}

rpc::PickedCall FollowingDoor::how() const {
  return {.timeout = options_.timeout, .repeat = rpc::Repeat::Safe};
}

DoorAnswer FollowingDoor::get(const v1::GetRequest& request) {
  return answer_of(on_loop(link_.call<v1::Resources>(&Resources::Get, request, how())));
}

DoorAnswer FollowingDoor::write(Write method, const v1::WriteRequest& request) {
  return answer_of(on_loop(link_.call<v1::Resources>(method_for(method), request, how())));
}

Status FollowingDoor::remove(const v1::DeleteRequest& request) {
  return on_loop(link_.call<v1::Resources>(&Resources::Delete, request, how())).status();
}

}  // namespace holdfast::test

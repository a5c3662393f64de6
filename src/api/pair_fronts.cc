#include "api/pair_fronts.h"

#include <boost/asio/post.hpp>

#include <utility>

#include "ha/pair_service.h"
#include "holdfast/v1/pair.grpc.pb.h"
#include "rpc/status.h"

namespace holdfast::api {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;
using identity::Call;

// Replication is neither limited in rate nor by how many calls run: one message is on its way at a
// time. Who sends it is verified once for as long as nothing changes.
class PairFront final : public v1::Pair::CallbackService {
 public:
  PairFront(CallRoom& room, PairParts parts, std::string own_name)
      : room_(room), parts_(parts), own_name_(std::move(own_name)) {}

  grpc::ServerWriteReactor<v1::Beat>* Beats(CallbackServerContext* context,
                                            const v1::BeatsRequest* request) override {
    return parts_.beats.open(room_.describe(*context), request);
  }

  ServerUnaryReactor* Replicate(CallbackServerContext* context, const v1::ReplicateRequest* request,
                                v1::ReplicateResponse* response) override {
    ServerUnaryReactor* reactor = context->DefaultReactor();
    asio::post(room_.loop(),
               [this, presented = room_.describe(*context), reactor, request, response] {
                 const Status allowed = allow(presented);
                 if (!allowed.ok()) return reactor->Finish(rpc::to_grpc(allowed));
                 room_.spawn(replicate(reactor, request, response));
               });
    return reactor;
  }

 private:
  Status allow(const Presented& presented) {
    Gate& gate = room_.gate();
    const bool same = presented.chain_pem == known_chain_ && gate.version() == known_version_;
    if (same && !known_chain_.empty() && parts_.pair.clock().wall_now() < known_until_) {
      return absl::OkStatus();
    }
    TRY(const Caller caller, gate.identify(presented));
    TRY_OK(allow_as_peer(gate, caller, own_name_));
    known_chain_ = presented.chain_pem;
    known_version_ = gate.version();
    known_until_ = caller.expires;
    return absl::OkStatus();
  }

  asio::awaitable<void> replicate(ServerUnaryReactor* reactor, const v1::ReplicateRequest* request,
                                  v1::ReplicateResponse* response) {
    Result<v1::ReplicateResponse> taken = co_await parts_.pair.replicate(*request);
    const Status status = taken.status();
    if (taken.ok()) *response = *std::move(taken);
    reactor->Finish(rpc::to_grpc(status));
  }

  CallRoom& room_;
  PairParts parts_;
  const std::string own_name_;
  // Of the loop.
  std::string known_chain_;
  uint64_t known_version_ = 0;
  WallTime known_until_{};
};

class PairControlFront final : public v1::PairControl::CallbackService {
 public:
  PairControlFront(CallRoom& room, PairControlService& service, DivergenceService& divergences)
      : room_(room), service_(service), divergences_(divergences) {}

  ServerUnaryReactor* GetPair(CallbackServerContext* context, const v1::GetPairRequest* request,
                              v1::PairStatus* response) override {
    return room_.handler(
        service_, &PairControlService::get_pair,
        {.verb = "get-pair", .call = Call::GetPair, .served_by = ServedBy::Either})(
        context, request, response);
  }
  ServerUnaryReactor* SwitchOver(CallbackServerContext* context,
                                 const v1::SwitchOverRequest* request,
                                 v1::SwitchOverResponse* response) override {
    return room_.handler(
        service_, &PairControlService::switch_over,
        {.verb = "switch-over", .call = Call::PairControl, .served_by = ServedBy::Either})(
        context, request, response);
  }
  ServerUnaryReactor* Promote(CallbackServerContext* context, const v1::PromoteRequest* request,
                              v1::PromoteResponse* response) override {
    return room_.handler(
        service_, &PairControlService::promote,
        {.verb = "promote", .call = Call::PairControl, .served_by = ServedBy::Either})(
        context, request, response);
  }
  ServerUnaryReactor* ListDivergences(CallbackServerContext* context,
                                      const v1::ListDivergencesRequest* request,
                                      v1::ListDivergencesResponse* response) override {
    return room_.handler(
        divergences_, &DivergenceService::list,
        {.verb = "list-divergences", .call = Call::PairControl, .served_by = ServedBy::Either})(
        context, request, response);
  }
  ServerUnaryReactor* GetDivergence(CallbackServerContext* context,
                                    const v1::GetDivergenceRequest* request,
                                    v1::Divergence* response) override {
    return room_.handler(
        divergences_, &DivergenceService::get,
        {.verb = "get-divergence", .call = Call::PairControl, .served_by = ServedBy::Either})(
        context, request, response);
  }
  ServerUnaryReactor* ResolveDivergence(CallbackServerContext* context,
                                        const v1::ResolveDivergenceRequest* request,
                                        v1::ResolveDivergenceResponse* response) override {
    return room_.handler(
        divergences_, &DivergenceService::resolve,
        {.verb = "resolve-divergence", .call = Call::PairControl, .served_by = ServedBy::Either})(
        context, request, response);
  }

 private:
  CallRoom& room_;
  PairControlService& service_;
  DivergenceService& divergences_;
};

// The gate's calls, without who it is: every controller is equal here.
class WitnessCalls {
 public:
  explicit WitnessCalls(ha::WitnessService& service) : service_(service) {}
  asio::awaitable<Result<v1::WitnessRecord>> read(Caller /*caller*/, v1::ReadRecordRequest) {
    return service_.read();
  }
  asio::awaitable<Result<v1::ChangeRecordResponse>> change(Caller /*caller*/,
                                                           v1::ChangeRecordRequest request) {
    return service_.change(std::move(request));
  }

 private:
  ha::WitnessService& service_;
};

class WitnessFront final : public v1::Witness::CallbackService {
 public:
  WitnessFront(CallRoom& room, ha::WitnessService& service) : room_(room), calls_(service) {}

  ServerUnaryReactor* ReadRecord(CallbackServerContext* context,
                                 const v1::ReadRecordRequest* request,
                                 v1::WitnessRecord* response) override {
    return room_.handler(calls_, &WitnessCalls::read,
                         {.verb = "read-record", .call = Call::Witness})(context, request,
                                                                         response);
  }
  ServerUnaryReactor* ChangeRecord(CallbackServerContext* context,
                                   const v1::ChangeRecordRequest* request,
                                   v1::ChangeRecordResponse* response) override {
    return room_.handler(calls_, &WitnessCalls::change,
                         {.verb = "change-record", .call = Call::Witness})(context, request,
                                                                           response);
  }

 private:
  CallRoom& room_;
  WitnessCalls calls_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_pair_front(CallRoom& room, PairParts parts,
                                               std::string own_name) {
  return std::make_unique<PairFront>(room, parts, std::move(own_name));
}

std::unique_ptr<grpc::Service> make_pair_control_front(CallRoom& room, PairControlService& service,
                                                       DivergenceService& divergences) {
  return std::make_unique<PairControlFront>(room, service, divergences);
}

std::unique_ptr<grpc::Service> make_witness_front(CallRoom& room, ha::WitnessService& service) {
  return std::make_unique<WitnessFront>(room, service);
}

}  // namespace holdfast::api

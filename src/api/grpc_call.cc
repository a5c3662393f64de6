#include "api/grpc_call.h"

#include "api/pair_metadata.h"
#include "base/log.h"
#include "base/reason.h"
#include "ha/pair_service.h"

namespace holdfast::api {
namespace {

// gRPC writes "ipv4:127.0.0.1:4711", "ipv6:%5B::1%5D:4711" and "unix:".
std::string source_of(const std::string& peer) {
  const size_t colon = peer.find(':');
  std::string source;
  for (size_t i = colon + 1; i < peer.size(); ++i) {
    const std::string_view escape = std::string_view(peer).substr(i, 3);
    const bool bracket = escape == "%5B" || escape == "%5D";
    source += !bracket ? peer[i] : escape == "%5B" ? '[' : ']';
    i += bracket ? 2 : 0;
  }
  return source;
}

}  // namespace

Presented CallRoom::describe(const grpc::CallbackServerContext& context) const {
  const uint64_t epoch = options_.pair == nullptr ? 0 : known_epoch(context);
  if (options_.local) {
    return {.chain_pem = "", .source = "unix", .local = true, .known_epoch = epoch};
  }
  Presented presented{.chain_pem = "", .source = source_of(context.peer())};
  presented.known_epoch = epoch;
  const auto pem = context.auth_context()->FindPropertyValues("x509_pem_cert");
  if (!pem.empty()) presented.chain_pem = {pem.front().data(), pem.front().size()};
  return presented;
}

Result<Caller> CallRoom::admit(const Presented& presented, const CallKind& kind) {
  stats_.calls += 1;
  if (running_.size() >= options_.max_running) {
    stats_.refused_when_full += 1;
    return absl::ResourceExhaustedError("too many calls at once");
  }
  TRY(Caller caller, gate_.admit(presented, kind.verb));
  if (kind.call) TRY_OK(gate_.allow(caller, *kind.call));
  return caller;
}

CallRoom::Arrival CallRoom::arrival_of(const Presented& presented, const Caller& caller,
                                       const CallKind& kind) {
  return {.known_epoch = presented.known_epoch,
          .somebody = caller.identity.role != identity::Role::Nobody,
          .served_by = kind.served_by};
}

asio::awaitable<Status> CallRoom::pass(Arrival arrival) {
  if (arrival.served_by == ServedBy::EitherAsAVote && arrival.somebody) options_.pair->vote();
  const bool founds = arrival.served_by == ServedBy::Founder;
  if (arrival.served_by != ServedBy::Active && !founds) co_return absl::OkStatus();
  if (founds) CO_TRY_OK(co_await options_.pair->found());
  CO_TRY_OK(options_.pair->check_epoch(arrival.known_epoch, arrival.somebody));
  const ha::Passage passage = co_await options_.pair->enter(arrival.somebody);
  co_return passage.status;
}

void CallRoom::finish_in_pair(const Open& open, const Status& status) {
  add_pair_metadata(*options_.pair, status, *open.context);
  open.reactor->Finish(rpc::to_grpc(status));
}

// A failure of ours; the same one again and again is one line.
void CallRoom::note_failure(const Status& status) {
  const bool ours = absl::IsUnavailable(status) || absl::IsDataLoss(status) ||
                    absl::IsResourceExhausted(status) || absl::IsInternal(status) ||
                    absl::IsUnknown(status) || absl::IsDeadlineExceeded(status);
  // HF5nnn is what a caller did wrong, however often; HF4nnn sends it elsewhere.
  const std::string_view code = split_reason(status).code;
  const bool theirs = code.starts_with("HF5") || code.starts_with("HF4");
  if (!ours || theirs || last_failure_ == status) return;
  last_failure_ = status;
  log::error("a call failed", {{"why", status.ToString()}});
}

}  // namespace holdfast::api

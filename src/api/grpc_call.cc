#include "api/grpc_call.h"

#include "base/log.h"
#include "base/reason.h"

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
  if (local_) return {.chain_pem = "", .source = "unix", .local = true};
  Presented presented{.chain_pem = "", .source = source_of(context.peer())};
  const auto pem = context.auth_context()->FindPropertyValues("x509_pem_cert");
  if (!pem.empty()) presented.chain_pem = {pem.front().data(), pem.front().size()};
  return presented;
}

Result<Caller> CallRoom::admit(const Presented& presented, const CallKind& kind) {
  stats_.calls += 1;
  if (running_.size() >= max_running_) {
    stats_.refused_when_full += 1;
    return absl::ResourceExhaustedError("too many calls at once");
  }
  TRY(Caller caller, gate_.admit(presented, kind.verb));
  if (kind.call) TRY_OK(gate_.allow(caller, *kind.call));
  return caller;
}

// A failure of ours; the same one again and again is one line.
void CallRoom::note_failure(const Status& status) {
  const bool ours = absl::IsUnavailable(status) || absl::IsDataLoss(status) ||
                    absl::IsResourceExhausted(status) || absl::IsInternal(status) ||
                    absl::IsUnknown(status) || absl::IsDeadlineExceeded(status);
  // HF5nnn is what a caller did wrong, however often.
  const bool theirs = split_reason(status).code.starts_with("HF5");
  if (!ours || theirs || last_failure_ == status) return;
  last_failure_ = status;
  log::error("a call failed", {{"why", status.ToString()}});
}

}  // namespace holdfast::api

#include "tunnel/greeting.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/reason.h"
#include "resource/proto_time.h"
#include "tunnel/exposed_facts.h"

namespace holdfast::tunnel {
namespace {

constexpr size_t kLongestCode = 16;
constexpr size_t kMaxVersionBytes = 1'024;

}  // namespace

Status check_caller(const identity::Identity& who, const GreetingRules& rules) {
  if (who.role == rules.role && who.cluster == rules.cluster) return absl::OkStatus();
  return coded(absl::StatusCode::kPermissionDenied, "HF2101",
               fmt::format("{} may not dial here; only an {} of {} may", identity::to_string(who),
                           identity::to_string(rules.role), rules.cluster));
}

Result<v1::TunnelHello> read_hello(std::string_view payload, const identity::Identity& who) {
  v1::TunnelMessage message;
  if (!message.ParseFromArray(payload.data(), static_cast<int>(payload.size())) ||
      !message.has_hello()) {
    return coded(absl::StatusCode::kInvalidArgument, "HF2108", "the first message is no hello");
  }
  v1::TunnelHello& hello = *message.mutable_hello();
  if (hello.name() != who.name) {
    return coded(absl::StatusCode::kPermissionDenied, "HF2102",
                 fmt::format("it calls itself {}, its certificate says {}", in_quotes(hello.name()),
                             identity::to_string(who)));
  }
  if (hello.version().size() > kMaxVersionBytes) {
    return coded(absl::StatusCode::kResourceExhausted, "HF2109", "its version is too long");
  }
  TRY_OK(check_exposed(hello.exposed()));
  return std::move(hello);
}

std::string refusal(const Status& why, Duration retry_after) {
  v1::TunnelMessage message;
  const Reason reason = split_reason(why);
  message.mutable_refusal()->set_code(std::string(reason.code));
  message.mutable_refusal()->set_reason(std::string(reason.message));
  if (retry_after > Duration::zero()) {
    *message.mutable_refusal()->mutable_retry_after() = resource::to_proto(retry_after);
  }
  return message.SerializeAsString();
}

std::string advice(std::string_view code, std::string_view reason, Duration closes_in) {
  v1::TunnelMessage message;
  message.mutable_advice()->set_code(std::string(code));
  message.mutable_advice()->set_reason(std::string(reason));
  if (closes_in > Duration::zero()) {
    *message.mutable_advice()->mutable_closes_in() = resource::to_proto(closes_in);
  }
  return message.SerializeAsString();
}

Status read_refusal(const v1::TunnelRefusal& refusal) {
  if (refusal.code().empty() || refusal.code().size() > kLongestCode) {
    return absl::UnavailableError(refusal.reason());
  }
  return coded(absl::StatusCode::kUnavailable, refusal.code(), refusal.reason());
}

}  // namespace holdfast::tunnel

#include "tunnel/greeting.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/reason.h"
#include "resource/proto_time.h"
#include "resource/text_rules.h"

namespace holdfast::tunnel {
namespace {

constexpr size_t kLongestCode = 16;

Status too_much(std::string_view what) {
  return coded(absl::StatusCode::kResourceExhausted, "HF2109", what);
}

}  // namespace

Status check_caller(const identity::Identity& who, const GreetingRules& rules) {
  if (who.role == rules.role && who.cluster == rules.cluster) return absl::OkStatus();
  return coded(absl::StatusCode::kPermissionDenied, "HF2101",
               fmt::format("{} may not dial here; only an {} of {} may", identity::to_string(who),
                           identity::to_string(rules.role), rules.cluster));
}

Status check_exposed(const v1::Exposed& exposed, const GreetingRules& rules) {
  if (static_cast<size_t>(exposed.services_size()) > rules.max_services) {
    return too_much(fmt::format("it exposes {} services, of {} at most", exposed.services_size(),
                                rules.max_services));
  }
  if (exposed.labels().size() > rules.max_labels) {
    return too_much(
        fmt::format("it has {} labels, of {} at most", exposed.labels_size(), rules.max_labels));
  }
  const auto long_service = [&](const v1::ExposedService& service) {
    return service.service().size() > resource::kMaxNameBytes ||
           service.reason().size() > rules.max_text_bytes;
  };
  const auto long_label = [&](const auto& label) {
    return label.first.size() > rules.max_text_bytes || label.second.size() > rules.max_text_bytes;
  };
  if (std::ranges::any_of(exposed.services(), long_service) ||
      std::any_of(exposed.labels().begin(), exposed.labels().end(), long_label)) {
    return too_much("a name, label or reason is too long");
  }
  return absl::OkStatus();
}

Result<v1::TunnelHello> read_hello(std::string_view payload, const identity::Identity& who,
                                   const GreetingRules& rules) {
  v1::TunnelMessage message;
  if (!message.ParseFromArray(payload.data(), static_cast<int>(payload.size())) ||
      !message.has_hello()) {
    return coded(absl::StatusCode::kInvalidArgument, "HF2108", "the first message is no hello");
  }
  v1::TunnelHello& hello = *message.mutable_hello();
  if (hello.name() != who.name) {
    return coded(absl::StatusCode::kPermissionDenied, "HF2102",
                 fmt::format("it calls itself {}, its certificate says {}", quoted(hello.name()),
                             identity::to_string(who)));
  }
  if (hello.version().size() > rules.max_text_bytes) return too_much("its version is too long");
  TRY_OK(check_exposed(hello.exposed(), rules));
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

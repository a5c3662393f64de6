#include "tunnel/agent_inputs.h"

#include <fmt/format.h>

#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "base/reason.h"
#include "tunnel/agent_pool_codec.h"
#include "tunnel/exposed_facts.h"
#include "tunnel/frame.h"

namespace holdfast::tunnel {
namespace {

constexpr size_t kMaxReasonBytes = 200;
// Of a message, for what is around the list: the name, the version and the zone of a hello.
constexpr size_t kMaxBytes = kMaxMessageBytes - 2'048;

std::string cut(const std::string& text) {
  if (text.size() <= kMaxReasonBytes && !first_invalid_utf8(text)) return text;
  return in_quotes(text, kMaxReasonBytes);
}

std::string code_of(const std::string& text) {
  return is_reason_code(text) ? text : std::string();
}

}  // namespace

std::vector<ListedProxy> to_listing(const std::vector<KnownProxy>& proxies) {
  std::vector<ListedProxy> listing;
  for (const KnownProxy& known : proxies) {
    if (known.proxy.tunnel_address().empty()) continue;
    listing.push_back(listed_proxy(known.name, known.proxy));
  }
  return listing;
}

Refusal to_refusal(const v1::TunnelRefusal& refusal) {
  Refusal made = read_pool_refusal(refusal);
  made.code = code_of(made.code);
  made.reason = cut(made.reason);
  return made;
}

MoveAdvice to_advice(const v1::Advice& advice) {
  MoveAdvice made = move_advice(advice);
  made.code = code_of(made.code);
  made.reason = cut(made.reason);
  return made;
}

bool is_reason_code(std::string_view code) {
  return code.size() == 6 && code.starts_with("HF") &&
         code.find_first_not_of("0123456789", 2) == std::string_view::npos;
}

Result<v1::Exposed> fitting(v1::Exposed exposed) {
  for (v1::ExposedService& service : *exposed.mutable_services()) {
    service.set_reason(cut(service.reason()));
  }
  if (const Status fits = check_exposed(exposed); !fits.ok()) {
    return coded(absl::StatusCode::kInvalidArgument, "HF2121",
                 fmt::format("{}; name fewer, or shorter", split_reason(fits).message));
  }
  if (exposed.ByteSizeLong() <= kMaxBytes) return exposed;
  for (v1::ExposedService& service : *exposed.mutable_services()) service.clear_reason();
  HF_CHECK(exposed.ByteSizeLong() <= kMaxBytes, "what may be exposed fits into a message");
  return exposed;
}

}  // namespace holdfast::tunnel

#include "probe/http_check.h"

#include <fmt/format.h>

#include "base/reason.h"

namespace holdfast::probe {
namespace {

using std::string_view;

bool redirects(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

string_view code_of(const Status& why) {
  switch (why.code()) {
    case absl::StatusCode::kDeadlineExceeded:
      return "HF7002";
    case absl::StatusCode::kCancelled:
      return "HF7007";
    case absl::StatusCode::kResourceExhausted:
      return "HF7006";
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kFailedPrecondition:
      return "HF7004";
    default:
      return "HF7001";
  }
}

}  // namespace

HttpCheck::HttpCheck(const Probe& probe, const HttpGet& http, string_view address)
    : hook_(probe.hook), hop_(first_hop(probe, http, address)) {}

HttpCheck::Next HttpCheck::on_head(int status, string_view location) {
  outcome_ = judge_status(status);
  const bool leads_on = redirects(status) && !location.empty();
  const Next next = leads_on ? follow(location) : Next::ReadBody;
  if (hook_ && next == Next::ReadBody) {
    // Whatever it says, it was called.
    outcome_ = {.healthy = true, .code = status, .reason = fmt::format("HTTP {}", status)};
  }
  return next;
}

HttpCheck::Next HttpCheck::follow(string_view location) {
  Result<std::optional<Hop>> next = next_hop(hop_, location);
  if (!next.ok()) {
    outcome_.healthy = false;
    outcome_.reason =
        fmt::format("HF7004: HTTP {}: {}", outcome_.code, string_view(next.status().message()));
    return Next::Over;
  }
  if (!next->has_value()) return Next::ReadBody;  // elsewhere: healthy as it is
  if (requests_ == kMaxRedirects) {
    outcome_.healthy = false;
    outcome_.reason = fmt::format("HF7003: stopped after {} redirects", kMaxRedirects);
    return Next::Over;
  }
  requests_ += 1;
  hop_ = **std::move(next);
  return Next::Follow;
}

void HttpCheck::on_body_cut(const Status& why) {
  if (hook_) return;
  outcome_.healthy = false;
  outcome_.error = true;
  outcome_.reason = fmt::format("HF7005: HTTP {}, but its body was cut off: {}", outcome_.code,
                                string_view(why.message()));
}

HttpCheck::Next HttpCheck::on_failure(const Status& why) {
  outcome_ = judge_failure(why);
  if (!hook_ || !hop_.tls || !absl::IsFailedPrecondition(why)) return Next::Over;
  hop_.tls = false;
  in_clear_instead_ = true;
  return Next::Follow;
}

Outcome judge_status(int status) {
  if (status >= 200 && status < 300) {
    return {.healthy = true, .code = status, .reason = "HTTP " + std::to_string(status)};
  }
  if (status >= 300 && status < 400) {
    return {.healthy = true,
            .code = status,
            .reason = fmt::format("HTTP {}, a redirect that is not followed", status)};
  }
  return {.code = status, .reason = fmt::format("HF7003: HTTP {}", status)};
}

Outcome judge_failure(const Status& why) {
  if (!split_reason(why).code.empty()) return {.reason = std::string(why.message())};
  return {.reason = fmt::format("{}: {}", code_of(why), string_view(why.message()))};
}

Status not_the_protocol(string_view what) {
  return absl::DataLossError(std::string(what));
}

}  // namespace holdfast::probe

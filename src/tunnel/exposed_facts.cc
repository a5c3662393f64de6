#include "tunnel/exposed_facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/reason.h"
#include "resource/text_rules.h"

namespace holdfast::tunnel {

namespace {

Status too_much(std::string_view what) {
  return coded(absl::StatusCode::kResourceExhausted, "HF2109", what);
}

// As it may be shown to people; what already may, and is short enough, stays as it is.
std::string printable(const std::string& reason) {
  const bool plain = std::ranges::none_of(
      reason, [](char c) { return static_cast<uint8_t>(c) < 0x20 || c == 0x7f; });
  if (plain && reason.size() <= kMaxKeptReason && !first_invalid_utf8(reason)) return reason;
  const std::string safe = in_quotes(reason, kMaxKeptReason);
  return safe.substr(1, safe.size() - 2);
}

}  // namespace

Status check_exposed(const v1::Exposed& exposed) {
  if (static_cast<size_t>(exposed.services_size()) > kMaxExposedServices) {
    return too_much(fmt::format("it exposes {} services, of {} at most", exposed.services_size(),
                                kMaxExposedServices));
  }
  if (exposed.labels().size() > kMaxExposedLabels) {
    return too_much(
        fmt::format("it has {} labels, of {} at most", exposed.labels_size(), kMaxExposedLabels));
  }
  size_t bytes = 0;
  bool is_long = false;
  for (const v1::ExposedService& service : exposed.services()) {
    bytes += service.service().size();
    is_long = is_long || service.service().size() > resource::kMaxNameBytes ||
              service.reason().size() > kMaxExposedReason;
  }
  for (const auto& [name, value] : exposed.labels()) {
    bytes += name.size() + value.size();
    is_long = is_long || name.size() > kMaxExposedText || value.size() > kMaxExposedText;
  }
  if (is_long) return too_much("a name, label or reason is too long");
  if (bytes > kMaxExposedBytes) {
    return too_much(
        fmt::format("the names of its services and its labels are {} bytes, of {} at most", bytes,
                    kMaxExposedBytes));
  }
  return absl::OkStatus();
}

route::AgentFacts facts_of(const CertifiedAgent& identity, const v1::Exposed& exposed) {
  route::AgentFacts facts{.name = identity.name, .zone = identity.zone};
  size_t kept = 0;
  for (const v1::ExposedService& service : exposed.services()) {
    if (service.healthy()) {
      facts.healthy.push_back(service.service());
      continue;
    }
    std::string reason = printable(service.reason());
    if (kept + reason.size() > kMaxKeptReasons) reason.clear();
    kept += reason.size();
    facts.unhealthy.emplace(service.service(), std::move(reason));
  }
  std::ranges::sort(facts.healthy);
  facts.labels.insert(exposed.labels().begin(), exposed.labels().end());
  return facts;
}

v1::HeldAgent to_held(const route::AgentFacts& facts) {
  v1::HeldAgent held;
  held.set_name(facts.name);
  held.set_zone(facts.zone);
  for (const std::string& service : facts.healthy) {
    v1::ExposedService& exposed = *held.mutable_exposed()->add_services();
    exposed.set_service(service);
    exposed.set_healthy(true);
  }
  for (const auto& [service, reason] : facts.unhealthy) {
    v1::ExposedService& exposed = *held.mutable_exposed()->add_services();
    exposed.set_service(service);
    exposed.set_reason(reason);
  }
  held.mutable_exposed()->mutable_labels()->insert(facts.labels.begin(), facts.labels.end());
  return held;
}

}  // namespace holdfast::tunnel

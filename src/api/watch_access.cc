#include "api/watch_access.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/reason.h"

namespace holdfast::api {
namespace {

bool includes(const std::map<std::string, std::string>& labels, const identity::Labels& required) {
  return std::ranges::all_of(required, [&](const auto& label) {
    const auto found = labels.find(label.first);
    return found != labels.end() && found->second == label.second;
  });
}

// A stream shows what matches one set of labels, so a grant of several needs a choice.
Status restrict_to(const identity::Grant& grant, events::WatchKind& kind) {
  if (grant.only_services.empty()) return absl::OkStatus();
  for (const identity::Labels& labels : grant.only_services) {
    if (includes(kind.labels, labels)) return absl::OkStatus();
  }
  if (grant.only_services.size() > 1) {
    return coded(absl::StatusCode::kPermissionDenied, "HF5001",
                 "you may watch services with one of several sets of labels; ask for one of them");
  }
  for (const auto& [key, value] : grant.only_services.front()) {
    const auto [at, added] = kind.labels.emplace(key, value);
    if (added || at->second == value) continue;
    return coded(absl::StatusCode::kPermissionDenied, "HF5001",
                 fmt::format("you may watch services with {}={} only", key, value));
  }
  return absl::OkStatus();
}

Result<events::WatchKind> authorise(Gate& gate, const Caller& caller, events::WatchKind kind,
                                    bool audited) {
  const std::optional<resource::Kind> known = resource::kind_named(kind.kind);
  // A kind there is not is the fan-out's to refuse, in its words.
  if (!known) return kind;
  const identity::Grant grant =
      caller.permissions->on_resources(caller.identity, v1::VERB_WATCH, *known);
  const bool secrets_ok = !kind.with_secrets || resource::info(*known).secret_paths.empty() ||
                          caller.permissions->sees_secrets(caller.identity, *known);
  if (!grant.allowed || !secrets_ok) {
    if (audited) return gate.refuse_resource(caller, v1::VERB_WATCH, *known, kind.name);
    return identity::refused(caller.identity, "watch " + kind.kind);
  }
  const Status restricted = restrict_to(grant, kind);
  if (restricted.ok()) return kind;
  return audited ? gate.refuse(caller, "watch", kind.kind, restricted) : restricted;
}

}  // namespace

Result<events::WatchRequest> authorise_watch(Gate& gate, const Caller& caller,
                                             const events::WatchRequest& request) {
  events::WatchRequest allowed = request;
  allowed.kinds.clear();
  Status first_refusal;
  for (const events::WatchKind& kind : request.kinds) {
    Result<events::WatchKind> seen = authorise(gate, caller, kind, !request.allow_partial_success);
    if (seen.ok()) {
      allowed.kinds.push_back(*std::move(seen));
    } else if (!request.allow_partial_success) {
      return seen.status();
    } else {
      first_refusal.Update(seen.status());
    }
  }
  // Nothing is left of what was asked: that is a refusal, not a quiet stream.
  if (allowed.kinds.empty() && !request.kinds.empty()) {
    return gate.refuse(caller, "watch", "", first_refusal);
  }
  return allowed;
}

Status still_allowed(Gate& gate, const AdmittedWatch& watch) {
  TRY(const Caller caller, gate.identify(watch.presented));
  TRY(const events::WatchRequest now, authorise_watch(gate, caller, watch.asked));
  if (now.kinds == watch.allowed) return absl::OkStatus();
  return absl::UnavailableError("permissions have changed; watch again");
}

}  // namespace holdfast::api

#include "events/watch_request.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"

namespace holdfast::events {
namespace {

WatchKind to_watch_kind(const v1::WatchKind& proto) {
  return {.kind = proto.kind(),
          .name = proto.name(),
          .labels = {proto.labels().begin(), proto.labels().end()},
          .with_secrets = proto.with_secrets()};
}

Status check_limits(const v1::WatchKind& kind, const WatchLimits& limits, int index) {
  const auto refuse = [&](std::string_view field, std::string_view why) {
    return absl::InvalidArgumentError(fmt::format("kinds[{}].{}: {}", index, field, why));
  };
  const auto too_long = [&](const std::string& text) {
    return text.size() > limits.max_text_bytes;
  };
  const std::string at_most = fmt::format("at most {} bytes", limits.max_text_bytes);
  if (kind.kind().empty()) return refuse("kind", "must be set");
  if (too_long(kind.kind())) return refuse("kind", at_most);
  if (too_long(kind.name())) return refuse("name", at_most);
  if (static_cast<size_t>(kind.labels().size()) > limits.max_labels) {
    return refuse("labels", fmt::format("at most {} labels", limits.max_labels));
  }
  for (const auto& [label, value] : kind.labels()) {
    if (too_long(label) || too_long(value)) return refuse("labels", at_most);
  }
  return absl::OkStatus();
}

}  // namespace

Result<WatchRequest> from_proto(const v1::WatchRequest& request, const WatchLimits& limits) {
  if (static_cast<size_t>(request.kinds_size()) > limits.max_kinds) {
    return absl::InvalidArgumentError(
        fmt::format("kinds: {} of them; at most {}", request.kinds_size(), limits.max_kinds));
  }
  if (request.after_revision() < 0) {
    return absl::InvalidArgumentError("after_revision: must not be negative");
  }
  WatchRequest parsed{.kinds = {},
                      .allow_partial_success = request.allow_partial_success(),
                      .after_revision = request.after_revision()};
  for (int i = 0; i < request.kinds_size(); ++i) {
    TRY_OK(check_limits(request.kinds(i), limits, i));
    parsed.kinds.push_back(to_watch_kind(request.kinds(i)));
  }
  return parsed;
}

v1::WatchKind to_proto(const WatchKind& kind) {
  v1::WatchKind proto;
  proto.set_kind(kind.kind);
  proto.set_name(kind.name);
  proto.mutable_labels()->insert(kind.labels.begin(), kind.labels.end());
  proto.set_with_secrets(kind.with_secrets);
  return proto;
}

Result<std::vector<WatchKind>> narrow(const WatchRequest& request, const Allowed& allowed) {
  if (request.kinds.empty()) {
    return absl::InvalidArgumentError(
        "kinds: name at least one; watching everything is not offered");
  }
  std::vector<WatchKind> left;
  for (const WatchKind& kind : request.kinds) {
    Status status = allowed(kind);
    if (status.ok()) {
      left.push_back(kind);
    } else if (!request.allow_partial_success) {
      return status;
    }
  }
  if (left.empty()) {
    return absl::InvalidArgumentError("kinds: none of the requested kinds can be watched");
  }
  return left;
}

bool contains(const WatchKind& confirmed, const WatchKind& requested) {
  if (confirmed.kind != requested.kind) return false;
  if (!confirmed.name.empty() && confirmed.name != requested.name) return false;
  if (requested.with_secrets && !confirmed.with_secrets) return false;
  return std::ranges::all_of(confirmed.labels, [&](const auto& label) {
    const auto found = requested.labels.find(label.first);
    return found != requested.labels.end() && found->second == label.second;
  });
}

bool contains(const std::vector<WatchKind>& confirmed, const WatchKind& requested) {
  return std::ranges::any_of(confirmed,
                             [&](const WatchKind& kind) { return contains(kind, requested); });
}

Result<std::vector<WatchKind>> confirmed_by(const v1::Event& first,
                                            const std::vector<WatchKind>& requested) {
  if (first.type() != v1::EVENT_TYPE_INIT) {
    return absl::FailedPreconditionError("the first event of a watch must be Init");
  }
  if (!first.has_status()) return requested;
  std::vector<WatchKind> confirmed;
  for (const v1::WatchKind& kind : first.status().kinds()) confirmed.push_back(to_watch_kind(kind));
  return confirmed;
}

}  // namespace holdfast::events

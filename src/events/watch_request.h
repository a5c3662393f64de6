// What a watcher asks to see, and the rules by which each layer it passes narrows that.
//
//   request ─► access rules ─► cache or store ─► fan-out ─► Init lists what is left
//
// A layer never edits the caller's list; it returns a shorter copy.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "holdfast/v1/api.pb.h"

namespace holdfast::events {

struct WatchKind {
  std::string kind;
  std::string name;                           // empty: every name
  std::map<std::string, std::string> labels;  // all must match
  bool with_secrets = false;
  bool operator==(const WatchKind&) const = default;
};

struct WatchRequest {
  std::vector<WatchKind> kinds;
  bool allow_partial_success = false;
  // Only changes after this revision; 0: from now on.
  int64_t after_revision = 0;
};

struct WatchLimits {
  size_t max_kinds = 64;
  size_t max_labels = 16;
  size_t max_text_bytes = 512;  // of a kind, a name, a label or its value
};

// kInvalidArgument naming the place if the request breaks a limit.
Result<WatchRequest> from_proto(const v1::WatchRequest& request, const WatchLimits& limits);
v1::WatchKind to_proto(const WatchKind& kind);

// The kinds of `request` that `allowed` accepts, in order.
//   strict: the original error of the first kind refused
//   partial success: the survivors; kInvalidArgument if there are none
//   no kinds at all: kInvalidArgument
using Allowed = std::function<Status(const WatchKind& kind)>;
Result<std::vector<WatchKind>> narrow(const WatchRequest& request, const Allowed& allowed);

// Whether a stream confirmed for `confirmed` shows everything `requested` asks for: the confirmed
// kind is not narrower in name or labels, and has secrets if they are wanted.
bool contains(const WatchKind& confirmed, const WatchKind& requested);
bool contains(const std::vector<WatchKind>& confirmed, const WatchKind& requested);

// What a client may rely on after Init: what the server listed, or, from an old server that lists
// nothing, all it asked for. kFailedPrecondition if `first` is not an Init.
Result<std::vector<WatchKind>> confirmed_by(const v1::Event& first,
                                            const std::vector<WatchKind>& requested);

}  // namespace holdfast::events

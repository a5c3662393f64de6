// Whether a stream that was let in may go on: asked again and again by whoever carries streams,
// over gRPC or HTTP.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "api/gate.h"
#include "base/clock.h"
#include "base/reason.h"
#include "base/result.h"

namespace holdfast::api {

// Absent for whoever has no certificate.
inline std::optional<WallTime> expiry_of(const Caller& caller) {
  return caller.expires == WallTime{} ? std::nullopt : std::optional(caller.expires);
}

struct Lawful {
  std::optional<WallTime> expires{};        // of the caller's certificate, if it has one
  std::function<Status()> still_allowed{};  // asked when permissions may have changed; may be empty

  // Why the stream has to end; OK if it may go on.
  Status verdict(bool changed, WallTime now) const {
    if (expires && *expires <= now) {
      return coded(absl::StatusCode::kUnauthenticated, "HF5003",
                   "the certificate of this stream has expired; renew it and open it again");
    }
    return changed && still_allowed ? still_allowed() : absl::OkStatus();
  }
};

// Whether the gate's permissions have changed since it was last asked.
class GateChanges {
 public:
  explicit GateChanges(const Gate& gate) : gate_(gate) {}
  bool take() { return std::exchange(seen_, gate_.version()) != gate_.version(); }

 private:
  const Gate& gate_;
  uint64_t seen_ = 0;
};

}  // namespace holdfast::api

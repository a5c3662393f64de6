// What a caller may watch: the access rules as one more layer that narrows a watch request.
#pragma once

#include "api/gate.h"
#include "base/result.h"
#include "events/watch_request.h"

namespace holdfast::api {

// The part of `request` that the caller may see. A caller that may see only services with certain
// labels gets these labels added. Strict: the refusal of the first kind it may not watch, audited.
// Partial success: without those kinds.
Result<events::WatchRequest> authorise_watch(Gate& gate, const Caller& caller,
                                             const events::WatchRequest& request);

// Whether a watch that was let in with `allowed` of `asked` may go on: the error to end it with if
// the caller is no longer who it was, or may no longer see all of it.
struct AdmittedWatch {
  Presented presented{};
  events::WatchRequest asked{};
  std::vector<events::WatchKind> allowed{};
};
Status still_allowed(Gate& gate, const AdmittedWatch& watch);

}  // namespace holdfast::api

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

}  // namespace holdfast::api

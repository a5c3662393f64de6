// Watch events as text/event-stream. Pure.
//
//   event: put
//   data: {"apiVersion":"holdfast.dev/v1","kind":"service",...}
//   id: 7
//
// `id` stands on the last event of each revision only: a reader that was cut off within a revision
// resumes before it, and sees the whole of it again rather than missing a part.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "holdfast/v1/api.pb.h"

namespace holdfast::web {

// init: {"revision":N,"kinds":[{"kind":"service"}]}; put and delete: the resource, of a delete only
// kind, name and the revision of the deletion.
std::string format_events(const v1::WatchResponse& response);
// The last event of a stream that the server ends: its error, as elsewhere.
std::string format_end(const Status& why);
// A comment, which readers ignore.
inline constexpr std::string_view kSseKeepAlive = ": still here\n\n";

}  // namespace holdfast::web

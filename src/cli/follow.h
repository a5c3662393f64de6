// A watch that goes on after its connection was lost.
#pragma once

#include <functional>

#include "base/result.h"
#include "cli/session.h"

namespace holdfast::cli {

// As Client::watch(), but when the controller goes away once the watch has begun, follows the next
// one from the last revision seen, and says so on stderr. Gives up, with what it last heard, when
// that does not succeed within Client::patience().
//
// `on_event` gets an Init when the watch begins. Another one means that the changes in between are
// not known to whoever serves now: it is to list what there is.
Status follow(const Session& session, v1::WatchRequest request,
              const std::function<bool(const v1::Event&)>& on_event);

}  // namespace holdfast::cli

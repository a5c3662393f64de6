// What a failed etcd request means for the next step. Core: reads codes and etcd's own messages.
#pragma once

#include "base/result.h"

namespace holdfast::store {

// Another member, or this one later, may answer; a write may have been applied or not.
bool etcd_may_recover(const Status& status);
// The token has expired or its member forgot it: authenticate again. Nothing was applied.
bool etcd_refused_token(const Status& status);
// A lease ran out before the write that names it. Nothing was applied.
bool etcd_lost_lease(const Status& status);
// The revision asked for is below the compacted one.
bool etcd_compacted(const Status& status);

}  // namespace holdfast::store

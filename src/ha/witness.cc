#include "ha/witness.h"

#include <fmt/format.h>

#include "base/reason.h"
#include "store/replica.h"

namespace holdfast::ha {

using absl::StatusCode;

Status may_replace(const Record& current, const RecordChange& change) {
  const Record& next = change.record;
  if (current.epoch != change.expected) {
    return coded(StatusCode::kAborted, "HF4201",
                 fmt::format("the record is at epoch {}, not {}", current.epoch, change.expected));
  }
  const Member active = next.active();
  const bool whole = next.epoch > current.epoch && next.in_sync.has(active) &&
                     !next.store_id(active).empty() &&
                     (next.in_sync != Members::both() || !next.store_id(other(active)).empty());
  if (!whole) {
    return coded(StatusCode::kInvalidArgument, "HF4203",
                 "a record needs a higher epoch, and an active half that is in sync");
  }
  const bool leaps = current.epoch != 0 && next.epoch - current.epoch > kMaxLeap;
  if (next.epoch > store::kMaxEpoch || leaps) {
    return coded(StatusCode::kInvalidArgument, "HF4203",
                 fmt::format("epoch {} is too far above {}", next.epoch, current.epoch));
  }
  const bool known =
      current.in_sync.has(active) && current.store_id(active) == next.store_id(active);
  if (current.epoch != 0 && !known && !change.force) {
    return coded(StatusCode::kFailedPrecondition, "HF4202",
                 fmt::format("the {} is not in sync: what it has may lack acknowledged writes",
                             to_string(active)));
  }
  return absl::OkStatus();
}

}  // namespace holdfast::ha

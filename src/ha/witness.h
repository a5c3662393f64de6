// The third opinion: one small record that changes only by compare-and-set. It holds no data of the
// cluster, so any process may keep it.
#pragma once

#include "base/result.h"
#include "ha/types.h"

namespace holdfast::ha {

struct RecordChange {
  Epoch expected = 0;  // the epoch of the record it replaces; 0: there is none
  Record record{};
  // An operator has decided: who was in sync does not count.
  bool force = false;
  bool operator==(const RecordChange&) const = default;
};

// A forced promotion leaps a thousand.
inline constexpr Epoch kMaxLeap = 1'000'000;

// Whether `change` may replace `current` (epoch 0: none). kAborted HF4201: another was faster;
// kFailedPrecondition HF4202: whoever would be active is not in sync, or is on another disk;
// kInvalidArgument HF4203: it makes no sense.
// An epoch that leaves hardly any after it is one of those, whoever insists: it is above
// store::kMaxEpoch, or more than kMaxLeap above a record that there is.
Status may_replace(const Record& current, const RecordChange& change);

}  // namespace holdfast::ha

// Which forms of stored data this version reads and writes.
#pragma once

#include <cstdint>

namespace holdfast::resource {

// kSchemaMax goes up with the version that first writes what the one before cannot read, kSchemaMin
// when an old form is given up. The ranges of a version and of the one before it meet; the halves
// of a pair whose ranges do not meet do not replicate (HF4112).
inline constexpr uint32_t kSchemaMin = 1;
inline constexpr uint32_t kSchemaMax = 1;
static_assert(kSchemaMin <= kSchemaMax);

}  // namespace holdfast::resource

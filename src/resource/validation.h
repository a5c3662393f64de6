// Whether a resource may be stored. A wrong one is kInvalidArgument, and the message names the
// field by its path, what is wrong with it, and what would be right:
//
//   spec.ports[0].port: 70000 is not a port; use 1 to 65535
#pragma once

#include <cstddef>

#include "base/clock.h"
#include "base/result.h"
#include "holdfast/v1/resource.pb.h"

namespace holdfast::resource {

// Of the encoded resource.
inline constexpr size_t kMaxResourceBytes = size_t{1} << 20;
inline constexpr size_t kMaxDescriptionBytes = 1024;
// Of any other text field.
inline constexpr size_t kMaxTextBytes = 4096;
// Elements of any one list or map.
inline constexpr size_t kMaxElements = 4096;
// Every duration a resource holds is a wait, so none is zero and none is for ever.
inline constexpr Duration kMinDuration = std::chrono::milliseconds(1);
inline constexpr Duration kMaxDuration = std::chrono::hours(24 * 365);

// The first rule broken, or OK. Secrets are never part of the message.
Status validate(const v1::Resource& resource);

}  // namespace holdfast::resource

// RFC 6902 for tests, apart from what makes patches: as an API server applies them.
#pragma once

#include <boost/json/value.hpp>

#include "base/result.h"

namespace holdfast::test {

// All operations or none. kInvalidArgument, naming the operation, if one cannot be carried out:
// what is removed or replaced must be there, and so must the parent of what is added.
Result<boost::json::value> apply_patch(boost::json::value document,
                                       const boost::json::value& patch);

}  // namespace holdfast::test

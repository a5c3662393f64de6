// Pieces from which validators are built: each checks one field and, if it is wrong, returns
// kInvalidArgument "spec.ports[0].port: 70000 is not a port; use 1 to 65535".
#pragma once

#include <google/protobuf/map.h>
#include <google/protobuf/repeated_field.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace holdfast::resource {

inline constexpr size_t kMaxLabels = 64;

Status wrong_field(std::string_view path, std::string_view reason);
// The failure if there is a reason, else OK.
Status check_field(std::string_view path, const std::optional<std::string>& reason);

Status require_name(std::string_view path, std::string_view name);
Status optional_name(std::string_view path, std::string_view name);
Status optional_address(std::string_view path, std::string_view address);
// Each a name, none twice.
Status unique_names(std::string_view path,
                    const google::protobuf::RepeatedPtrField<std::string>& names);
// At most kMaxLabels, keys and values as text_rules.h has them.
Status check_labels(std::string_view path,
                    const google::protobuf::Map<std::string, std::string>& labels);

}  // namespace holdfast::resource

#include "resource/field_rules.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <string>

#include "base/bytes.h"
#include "resource/text_rules.h"

namespace holdfast::resource {

Status wrong_field(std::string_view path, std::string_view reason) {
  return absl::InvalidArgumentError(fmt::format("{}: {}", path, reason));
}

Status check_field(std::string_view path, const std::optional<std::string>& reason) {
  return reason ? wrong_field(path, *reason) : absl::OkStatus();
}

Status require_name(std::string_view path, std::string_view name) {
  return check_field(path, wrong_name(name));
}

Status optional_name(std::string_view path, std::string_view name) {
  return name.empty() ? absl::OkStatus() : require_name(path, name);
}

Status optional_address(std::string_view path, std::string_view address) {
  return address.empty() ? absl::OkStatus() : check_field(path, wrong_address(address));
}

Status unique_names(std::string_view path,
                    const google::protobuf::RepeatedPtrField<std::string>& names) {
  std::set<std::string_view> seen;
  for (int i = 0; i < names.size(); ++i) {
    const std::string at = fmt::format("{}[{}]", path, i);
    TRY_OK(require_name(at, names[i]));
    if (!seen.insert(names[i]).second) {
      return wrong_field(at, fmt::format("{} is listed twice; keep one", in_quotes(names[i])));
    }
  }
  return absl::OkStatus();
}

Status check_labels(std::string_view path,
                    const google::protobuf::Map<std::string, std::string>& labels) {
  if (labels.size() > kMaxLabels) {
    return wrong_field(path,
                       fmt::format("holds {} labels; use at most {}", labels.size(), kMaxLabels));
  }
  // In order of key, so that the same resource always gives the same answer.
  const std::map<std::string_view, std::string_view> sorted(labels.begin(), labels.end());
  for (const auto& [key, value] : sorted) {
    TRY_OK(check_field(path, wrong_label_key(key)));
    TRY_OK(check_field(fmt::format("{}.{}", path, key), wrong_label_value(value)));
  }
  return absl::OkStatus();
}

}  // namespace holdfast::resource

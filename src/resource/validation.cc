#include "resource/validation.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "resource/encode.h"
#include "resource/field_rules.h"
#include "resource/registry.h"
#include "resource/scalar_text.h"
#include "resource/text_rules.h"

namespace holdfast::resource {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// What holds for every field of every kind is found by walking the message: text is UTF-8 without
// NUL, times exist, durations are waits, enum values are known, nothing has too many elements.
Status check_message(const std::string& path, const Message& message);

Status check_text(const std::string& path, const std::string& text) {
  if (const auto at = first_invalid_utf8(text)) {
    return wrong_field(path, fmt::format("is not UTF-8 at byte {}; use UTF-8 text", *at));
  }
  if (const size_t at = text.find('\0'); at != std::string::npos) {
    return wrong_field(path, fmt::format("holds a NUL at byte {}; use text without it", at));
  }
  if (text.size() > kMaxTextBytes) {
    return wrong_field(path,
                       fmt::format("is {} bytes long; use at most {}", text.size(), kMaxTextBytes));
  }
  return absl::OkStatus();
}

Status check_enum(const std::string& path, const FieldDescriptor& field, int number) {
  if (field.enum_type()->FindValueByNumber(number) != nullptr) return absl::OkStatus();
  return wrong_field(path, fmt::format("{} is not a value this version knows; use {}", number,
                                       enum_words(*field.enum_type())));
}

Status check_timestamp(const std::string& path, const google::protobuf::Timestamp& time) {
  if (is_valid(time)) return absl::OkStatus();
  return wrong_field(
      path, fmt::format("{} s and {} ns is not a time; use one such as \"2026-11-16T00:00:00Z\"",
                        time.seconds(), time.nanos()));
}

Status check_duration(const std::string& path, const google::protobuf::Duration& duration) {
  if (!is_valid(duration)) {
    return wrong_field(path,
                       fmt::format("{} s and {} ns is not a duration; use one such as \"30s\"",
                                   duration.seconds(), duration.nanos()));
  }
  // Nanoseconds in 64 bits end after 292 years, protobuf's seconds do not.
  constexpr int64_t kMaxSeconds =
      std::chrono::duration_cast<std::chrono::seconds>(kMaxDuration).count();
  const int64_t seconds = std::clamp<int64_t>(duration.seconds(), -1, kMaxSeconds + 1);
  const Duration total = std::chrono::seconds(seconds) + Duration(duration.nanos());
  // What was measured may be shorter than any wait.
  const bool is_measured = path.ends_with(".round_trip");
  const Duration least = is_measured ? Duration::zero() : kMinDuration;
  if (total >= least && total <= kMaxDuration) return absl::OkStatus();
  return wrong_field(path,
                     fmt::format("{} is out of range; use 1ms to 8760h", duration_text(duration)));
}

// The one value of a field, or with `index` 0 and up that element of it.
Status check_value(const std::string& path, const Message& message, const FieldDescriptor& field,
                   int index) {
  const auto& reflection = *message.GetReflection();
  const bool one = index < 0;
  switch (field.type()) {
    case FieldDescriptor::TYPE_MESSAGE:
      return check_message(path, one ? reflection.GetMessage(message, &field)
                                     : reflection.GetRepeatedMessage(message, &field, index));
    case FieldDescriptor::TYPE_ENUM:
      return check_enum(path, field,
                        one ? reflection.GetEnumValue(message, &field)
                            : reflection.GetRepeatedEnumValue(message, &field, index));
    case FieldDescriptor::TYPE_STRING:
      return check_text(path, one ? reflection.GetString(message, &field)
                                  : reflection.GetRepeatedString(message, &field, index));
    default:
      return absl::OkStatus();
  }
}

// The keys and values of a map, of which only text can be wrong.
Status check_entries(const std::string& path, const Message& message,
                     const FieldDescriptor& field) {
  for (const Member& entry : encode_map(message, field)) {
    TRY_OK(check_text(path, entry.key));
    TRY_OK(check_text(path, entry.value.text));
  }
  return absl::OkStatus();
}

Status check_elements(const std::string& path, const Message& message,
                      const FieldDescriptor& field) {
  const int size = message.GetReflection()->FieldSize(message, &field);
  if (static_cast<size_t>(size) > kMaxElements) {
    return wrong_field(path, fmt::format("has {} elements; use at most {}", size, kMaxElements));
  }
  if (field.is_map()) return check_entries(path, message, field);
  for (int i = 0; i < size; ++i) {
    TRY_OK(check_value(fmt::format("{}[{}]", path, i), message, field, i));
  }
  return absl::OkStatus();
}

Status check_message(const std::string& path, const Message& message) {
  if (message.GetDescriptor() == google::protobuf::Timestamp::descriptor()) {
    return check_timestamp(path, static_cast<const google::protobuf::Timestamp&>(message));
  }
  if (message.GetDescriptor() == google::protobuf::Duration::descriptor()) {
    return check_duration(path, static_cast<const google::protobuf::Duration&>(message));
  }
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string at = path + "." + field->name();
    TRY_OK(field->is_repeated() ? check_elements(at, message, *field)
                                : check_value(at, message, *field, -1));
  }
  return absl::OkStatus();
}

Status check_kind(const v1::Resource& resource) {
  const auto kind = kind_of(resource);
  if (kind && resource.kind() == info(*kind).name) return absl::OkStatus();
  if (kind) {
    return wrong_field("kind", fmt::format("{} does not agree with the body; use \"{}\"",
                                           in_quotes(resource.kind()), info(*kind).name));
  }
  if (kind_named(resource.kind())) {
    return wrong_field("spec", fmt::format("is missing; give the {}'s fields", resource.kind()));
  }
  return wrong_field("kind", std::string(find_kind(resource.kind()).status().message()));
}

Status check_metadata(const KindInfo& kind, const v1::Metadata& metadata) {
  TRY_OK(require_name("metadata.name", metadata.name()));
  if (!kind.singleton_name.empty() && metadata.name() != kind.singleton_name) {
    return wrong_field("metadata.name",
                       fmt::format("{} is not \"{}\", the only {} there is",
                                   in_quotes(metadata.name()), kind.singleton_name, kind.name));
  }
  TRY_OK(check_labels("metadata.labels", metadata.labels()));
  if (metadata.revision() < 0) {
    return wrong_field(
        "metadata.revision",
        fmt::format("{} is negative; use the revision you have seen, or 0", metadata.revision()));
  }
  if (metadata.description().size() > kMaxDescriptionBytes) {
    return wrong_field("metadata.description",
                       fmt::format("is {} bytes long; use at most {}",
                                   metadata.description().size(), kMaxDescriptionBytes));
  }
  return absl::OkStatus();
}

}  // namespace

Status validate(const v1::Resource& resource) {
  if (const size_t size = resource.ByteSizeLong(); size > kMaxResourceBytes) {
    return absl::InvalidArgumentError(
        fmt::format("the resource is {} bytes long; use at most {}", size, kMaxResourceBytes));
  }
  TRY_OK(check_kind(resource));
  const KindInfo& kind = info(*kind_of(resource));
  TRY_OK(check_metadata(kind, resource.metadata()));
  TRY_OK(check_message("metadata", resource.metadata()));
  TRY_OK(check_message("spec", *body_of(resource)));
  return kind.validate_body(resource);
}

}  // namespace holdfast::resource

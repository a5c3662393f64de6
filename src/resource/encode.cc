#include "resource/encode.h"

#include <absl/strings/escaping.h>
#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/check.h"
#include "resource/scalar_text.h"

namespace holdfast::resource {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

Node quoted_node(std::string text) {
  return Node::scalar(std::move(text), true);
}

Node plain_node(std::string text) {
  return Node::scalar(std::move(text), false);
}

Node encode_submessage(const Message& message) {
  if (message.GetDescriptor() == google::protobuf::Timestamp::descriptor()) {
    return quoted_node(timestamp_text(static_cast<const google::protobuf::Timestamp&>(message)));
  }
  if (message.GetDescriptor() == google::protobuf::Duration::descriptor()) {
    return quoted_node(duration_text(static_cast<const google::protobuf::Duration&>(message)));
  }
  return encode_message(message);
}

Node encode_number(const Message& message, const FieldDescriptor& field, int index) {
  const auto& reflection = *message.GetReflection();
  const bool one = index < 0;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT64:
      return plain_node(
          fmt::format("{}", one ? reflection.GetInt64(message, &field)
                                : reflection.GetRepeatedInt64(message, &field, index)));
    case FieldDescriptor::CPPTYPE_UINT64:
      return plain_node(
          fmt::format("{}", one ? reflection.GetUInt64(message, &field)
                                : reflection.GetRepeatedUInt64(message, &field, index)));
    case FieldDescriptor::CPPTYPE_INT32:
      return plain_node(
          fmt::format("{}", one ? reflection.GetInt32(message, &field)
                                : reflection.GetRepeatedInt32(message, &field, index)));
    case FieldDescriptor::CPPTYPE_UINT32:
      return plain_node(
          fmt::format("{}", one ? reflection.GetUInt32(message, &field)
                                : reflection.GetRepeatedUInt32(message, &field, index)));
    default:
      check_failed(__FILE__, __LINE__, "resources hold no floating point");
  }
}

Node encode_list(const Message& message, const FieldDescriptor& field) {
  Node out = Node::sequence();
  for (int i = 0; i < message.GetReflection()->FieldSize(message, &field); ++i) {
    out.items.push_back(encode_value(message, field, i));
  }
  return out;
}

bool is_set(const Message& message, const FieldDescriptor& field) {
  const auto& reflection = *message.GetReflection();
  return field.is_repeated() ? reflection.FieldSize(message, &field) > 0
                             : reflection.HasField(message, &field);
}

}  // namespace

Node encode_value(const Message& message, const FieldDescriptor& field, int index) {
  const auto& reflection = *message.GetReflection();
  const bool one = index < 0;
  switch (field.type()) {
    case FieldDescriptor::TYPE_MESSAGE:
      return encode_submessage(one ? reflection.GetMessage(message, &field)
                                   : reflection.GetRepeatedMessage(message, &field, index));
    case FieldDescriptor::TYPE_STRING:
      return quoted_node(one ? reflection.GetString(message, &field)
                             : reflection.GetRepeatedString(message, &field, index));
    case FieldDescriptor::TYPE_BYTES:
      return quoted_node(
          absl::Base64Escape(one ? reflection.GetString(message, &field)
                                 : reflection.GetRepeatedString(message, &field, index)));
    case FieldDescriptor::TYPE_ENUM:
      return quoted_node(enum_text(*field.enum_type(),
                                   one ? reflection.GetEnumValue(message, &field)
                                       : reflection.GetRepeatedEnumValue(message, &field, index)));
    case FieldDescriptor::TYPE_BOOL: {
      const bool value = one ? reflection.GetBool(message, &field)
                             : reflection.GetRepeatedBool(message, &field, index);
      return plain_node(value ? "true" : "false");
    }
    default:
      return encode_number(message, field, index);
  }
}

std::vector<Member> encode_map(const Message& message, const FieldDescriptor& field) {
  // Reflection makes a list of a map, even within a const message, and from then on does not see
  // what is done through a reference to the map. So it is given a copy.
  const std::unique_ptr<Message> copy(message.New());
  copy->CopyFrom(message);
  const auto& reflection = *copy->GetReflection();
  std::vector<Member> out;
  for (int i = 0; i < reflection.FieldSize(*copy, &field); ++i) {
    const Message& entry = reflection.GetRepeatedMessage(*copy, &field, i);
    const auto& type = *entry.GetDescriptor();
    Member& member = out.emplace_back();
    member.key = entry.GetReflection()->GetString(entry, type.map_key());
    member.value = encode_value(entry, *type.map_value(), -1);
  }
  std::ranges::sort(out, {}, &Member::key);
  return out;
}

Node encode_message(const Message& message) {
  const auto& type = *message.GetDescriptor();
  Node out = Node::mapping();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (!is_set(message, field)) continue;
    Member& member = out.members.emplace_back();
    member.key = field.name();
    if (field.is_map()) {
      member.value = Node::mapping();
      member.value.members = encode_map(message, field);
    } else {
      member.value =
          field.is_repeated() ? encode_list(message, field) : encode_value(message, field, -1);
    }
  }
  return out;
}

}  // namespace holdfast::resource

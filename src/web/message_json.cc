// Messages that are not resources as JSON, the part of answer.h that needs descriptors.
#include <google/protobuf/descriptor.h>

#include "resource/encode.h"
#include "web/answer.h"
#include "web/json.h"

namespace holdfast::web {
namespace {

using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using resource::Node;

Node show(const Message& message);

bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}

// "HEALTH_STATE_" of HealthState.
std::string prefix_of(std::string_view type) {
  std::string out;
  for (const char c : type) {
    if (is_upper(c) && !out.empty()) out += '_';
    out += is_upper(c) ? c : static_cast<char>(c - 'a' + 'A');
  }
  return out + "_";
}

Node show_enum(const FieldDescriptor& field, int number) {
  const EnumValueDescriptor* value = field.enum_type()->FindValueByNumber(number);
  if (value == nullptr) return plain(std::to_string(number));
  std::string_view name = value->name();
  const std::string prefix = prefix_of(field.enum_type()->name());
  if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  std::string word;
  for (const char c : name) word += is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
  return text(word);
}

bool is_time(const FieldDescriptor& field) {
  return field.message_type()->full_name().starts_with("google.protobuf.");
}

// `index` is -1 for a field that does not repeat.
Node show_value(const Message& message, const FieldDescriptor& field, int index) {
  const auto& reflection = *message.GetReflection();
  const bool one = index < 0;
  if (field.type() == FieldDescriptor::TYPE_ENUM) {
    return show_enum(field, one ? reflection.GetEnumValue(message, &field)
                                : reflection.GetRepeatedEnumValue(message, &field, index));
  }
  if (field.type() == FieldDescriptor::TYPE_MESSAGE && !is_time(field)) {
    return show(one ? reflection.GetMessage(message, &field)
                    : reflection.GetRepeatedMessage(message, &field, index));
  }
  return resource::encode_value(message, field, index);
}

Node show_list(const Message& message, const FieldDescriptor& field) {
  Node list = Node::sequence();
  for (int i = 0; i < message.GetReflection()->FieldSize(message, &field); ++i) {
    list.items.push_back(show_value(message, field, i));
  }
  return list;
}

Node show_map(const Message& message, const FieldDescriptor& field) {
  Node map = Node::mapping();
  map.members = resource::encode_map(message, field);
  return map;
}

Node show(const Message& message) {
  Node out = Node::mapping();
  const auto& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const bool absent = field.has_presence() && !message.GetReflection()->HasField(message, &field);
    if (absent) continue;
    if (field.is_map()) {
      add(out, field.name(), show_map(message, field));
    } else if (field.is_repeated()) {
      add(out, field.name(), show_list(message, field));
    } else {
      add(out, field.name(), show_value(message, field, -1));
    }
  }
  return out;
}

}  // namespace

std::string message_json(const Message& message) {
  return resource::write_json(show(message));
}

}  // namespace holdfast::web

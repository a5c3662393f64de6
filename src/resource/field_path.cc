#include "resource/field_path.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "resource/encode.h"
#include "resource/registry.h"

namespace holdfast::resource {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using std::string_view;

// "spec.ports.port" as "spec" and "ports.port".
std::pair<std::string, string_view> split_first(string_view path) {
  const size_t dot = path.find('.');
  if (dot == string_view::npos) return {std::string(path), ""};
  return {std::string(path.substr(0, dot)), path.substr(dot + 1)};
}

void append_value(std::string& out, const Node& value) {
  if (!out.empty()) out += ',';
  out += value.text;
}

// Calls `visit(message, field, index)` for every value at `path`; `index` is -1 for a field that is
// not repeated.
template <typename Visit>
void for_each_value(const Message& message, string_view path, const Visit& visit) {
  const auto& reflection = *message.GetReflection();
  const auto [name, rest] = split_first(path);
  const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(name);
  if (field == nullptr) return;
  if (!field->is_repeated()) {
    if (rest.empty()) return visit(message, *field, -1);
    return for_each_value(reflection.GetMessage(message, field), rest, visit);
  }
  for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
    if (rest.empty()) {
      visit(message, *field, i);
    } else {
      for_each_value(reflection.GetRepeatedMessage(message, field, i), rest, visit);
    }
  }
}

std::string map_text(const Message& message, const FieldDescriptor& field) {
  std::string out;
  for (const Member& entry : encode_map(message, field)) {
    out += fmt::format("{}{}={}", out.empty() ? "" : ",", entry.key, entry.value.text);
  }
  return out;
}

// A node's state: what its announcement means.
std::string announcement_text(const v1::Announcement& announcement) {
  const FieldDescriptor* since = v1::Announcement::descriptor()->FindFieldByName("offline_since");
  if (!announcement.has_offline_since()) return "online";
  return "offline since " + encode_value(announcement, *since, -1).text;
}

std::string values_text(const Message& message, string_view path) {
  std::string out;
  for_each_value(message, path, [&](const Message& in, const FieldDescriptor& field, int index) {
    if (field.is_map()) {
      if (index == 0) out += map_text(in, field);
      return;
    }
    const bool is_time = field.type() == FieldDescriptor::TYPE_MESSAGE && index < 0;
    if (is_time && !in.GetReflection()->HasField(in, &field)) return;
    if (field.message_type() == v1::Announcement::descriptor()) {
      const Message& announcement = in.GetReflection()->GetMessage(in, &field);
      out += announcement_text(static_cast<const v1::Announcement&>(announcement));
      return;
    }
    append_value(out, encode_value(in, field, index));
  });
  return out;
}

bool same_without(const Message& a, const Message& b, string_view path) {
  const std::unique_ptr<Message> left(a.New());
  const std::unique_ptr<Message> right(b.New());
  left->CopyFrom(a);
  right->CopyFrom(b);
  clear_field(*left, path);
  clear_field(*right, path);
  return google::protobuf::util::MessageDifferencer::Equals(*left, *right);
}

// Secrets are strings or bytes.
void fill_field(const Message& stored, Message& wanted, string_view path) {
  const auto& reflection = *wanted.GetReflection();
  const auto [name, rest] = split_first(path);
  const FieldDescriptor* field = wanted.GetDescriptor()->FindFieldByName(name);
  if (field == nullptr) return;
  if (rest.empty()) {
    if (reflection.HasField(wanted, field)) return;
    return reflection.SetString(&wanted, field, reflection.GetString(stored, field));
  }
  if (!field->is_repeated()) {
    if (!reflection.HasField(wanted, field)) return;
    return fill_field(reflection.GetMessage(stored, field),
                      *reflection.MutableMessage(&wanted, field), rest);
  }
  const int both =
      std::min(reflection.FieldSize(stored, field), reflection.FieldSize(wanted, field));
  for (int i = 0; i < both; ++i) {
    const Message& from = reflection.GetRepeatedMessage(stored, field, i);
    Message& to = *reflection.MutableRepeatedMessage(&wanted, field, i);
    if (same_without(from, to, rest)) fill_field(from, to, rest);
  }
}

}  // namespace

std::string cell_text(const v1::Resource& resource, string_view path) {
  const auto [part, rest] = split_first(path);
  if (part == "metadata") return values_text(resource.metadata(), rest);
  const Message* body = body_of(resource);
  return body == nullptr ? "" : values_text(*body, rest);
}

void clear_field(Message& message, string_view path) {
  const auto& reflection = *message.GetReflection();
  const auto [name, rest] = split_first(path);
  const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(name);
  if (field == nullptr) return;
  if (rest.empty()) return reflection.ClearField(&message, field);
  if (!field->is_repeated()) {
    if (!reflection.HasField(message, field)) return;
    return clear_field(*reflection.MutableMessage(&message, field), rest);
  }
  for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
    clear_field(*reflection.MutableRepeatedMessage(&message, field, i), rest);
  }
}

bool is_field(const Descriptor& type, string_view path) {
  const auto [name, rest] = split_first(path);
  const FieldDescriptor* field = type.FindFieldByName(name);
  if (field == nullptr) return false;
  if (rest.empty()) return true;
  return field->message_type() != nullptr && is_field(*field->message_type(), rest);
}

v1::Resource without_secrets(v1::Resource resource) {
  const auto kind = kind_of(resource);
  if (!kind) return resource;
  for (const string_view path : info(*kind).secret_paths) {
    clear_field(mutable_body(*kind, resource), path);
  }
  return resource;
}

v1::Resource with_secrets_of(const v1::Resource& stored, v1::Resource wanted) {
  const auto kind = kind_of(wanted);
  if (!kind || kind_of(stored) != kind) return wanted;
  for (const string_view path : info(*kind).secret_paths) {
    fill_field(*body_of(stored), mutable_body(*kind, wanted), path);
  }
  return wanted;
}

}  // namespace holdfast::resource

#include "inject/json_edit.h"

#include <utility>

namespace holdfast::inject {

using std::string_view;

json::string_view key(string_view text) {
  return {text.data(), text.size()};
}

string_view view(const json::string& text) {
  return {text.data(), text.size()};
}

string_view view(json::string_view text) {
  return {text.data(), text.size()};
}

json::value* find(json::object& object, string_view name) {
  return object.if_contains(key(name));
}

const json::value* find(const json::object& object, string_view name) {
  return object.if_contains(key(name));
}

json::object* find_object(json::object& object, string_view name) {
  json::value* value = find(object, name);
  return value == nullptr ? nullptr : value->if_object();
}

const json::object* find_object(const json::object& object, string_view name) {
  const json::value* value = find(object, name);
  return value == nullptr ? nullptr : value->if_object();
}

const json::array* find_array(const json::object& object, string_view name) {
  const json::value* value = find(object, name);
  return value == nullptr ? nullptr : value->if_array();
}

std::string find_text(const json::object& object, string_view name) {
  const json::value* value = find(object, name);
  return value != nullptr && value->is_string() ? std::string(view(value->get_string())) : "";
}

std::optional<uint64_t> whole_number(const json::value& value) {
  if (const uint64_t* large = value.if_uint64()) return *large;
  const int64_t* number = value.if_int64();
  if (number == nullptr || *number < 0) return std::nullopt;
  return static_cast<uint64_t>(*number);
}

std::optional<uint16_t> port_number(const json::value& value) {
  const std::optional<uint64_t> number = whole_number(value);
  if (!number || *number < 1 || *number > 65535) return std::nullopt;
  return static_cast<uint16_t>(*number);
}

json::value to_json(const Was& was) {
  json::array list;
  if (was) list.push_back(*was);
  return list;
}

Was was_from(const json::value& value) {
  const json::array* list = value.if_array();
  if (list == nullptr || list->empty()) return std::nullopt;
  return list->front();
}

Was value_of(const json::object& object, string_view name) {
  const json::value* value = find(object, name);
  return value == nullptr ? Was() : Was(*value);
}

void restore(json::object& object, string_view name, const Was& was) {
  if (was) {
    object.insert_or_assign(key(name), *was);
  } else {
    const auto* member = object.find(key(name));
    if (member != object.end()) object.stable_erase(member);
  }
}

void replace_member(json::object& object, string_view from, string_view to, json::value value) {
  json::object out(object.storage());
  out.reserve(object.size());
  for (auto& member : object) {
    if (view(member.key()) == from) {
      out.insert_or_assign(key(to), std::move(value));
    } else {
      out.insert_or_assign(member.key(), std::move(member.value()));
    }
  }
  object = std::move(out);
}

}  // namespace holdfast::inject

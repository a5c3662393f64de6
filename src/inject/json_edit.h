// Small edits of JSON that keep the order of members, and looks at values that may not be there.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::inject {

namespace json = boost::json;

json::string_view key(std::string_view text);
std::string_view view(const json::string& text);
std::string_view view(json::string_view text);

// Null if it is absent or of another shape.
json::value* find(json::object& object, std::string_view name);
const json::value* find(const json::object& object, std::string_view name);
json::object* find_object(json::object& object, std::string_view name);
const json::object* find_object(const json::object& object, std::string_view name);
const json::array* find_array(const json::object& object, std::string_view name);
std::string find_text(const json::object& object, std::string_view name);
// A whole number from 0 on, or nothing.
std::optional<uint64_t> whole_number(const json::value& value);
// A number in 1..65535, or nothing.
std::optional<uint16_t> port_number(const json::value& value);

// What stood somewhere: nothing, or a value. As JSON it is a list of none or one.
using Was = std::optional<json::value>;
json::value to_json(const Was& was);
Was was_from(const json::value& value);
Was value_of(const json::object& object, std::string_view name);

// Puts the value there, or takes the member away.
void restore(json::object& object, std::string_view name, const Was& was);
// The member `from` becomes `to`, at its place.
void replace_member(json::object& object, std::string_view from, std::string_view to,
                    json::value value);

}  // namespace holdfast::inject

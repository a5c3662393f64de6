// From a document tree to a message, by the message's descriptor. Field names are taken in
// snake_case or lowerCamelCase. A null means the field is not set.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "resource/node.h"

namespace holdfast::resource {

enum class Strings : uint8_t {
  // A string must have been quoted, as in JSON.
  Quoted,
  // A plain scalar is taken letter by letter: 1.10 and true are text where text is expected.
  Literal,
};

struct DecodeOptions {
  // Where the mapping stands in the document, for messages: "spec".
  std::string path;
  Strings strings = Strings::Literal;
};

// Sets in `out` what `mapping` says. After an error `out` holds some of it.
Parsed<void> decode_message(const Node& mapping, const DecodeOptions& options,
                            google::protobuf::Message& out);

// A key as part of a path: as it is if it is a plain word, else quoted and cut.
std::string key_in_path(std::string_view key);
// "must be a list, not a mapping".
std::string wrong_shape(const char* expected, const Node& node);
// "unknown field", with the nearest of `known` if one is near.
std::string unknown_field(std::string_view key, std::span<const std::string_view> known);

}  // namespace holdfast::resource

// From a message to a document tree, the way decode.h reads back: fields in the order of the
// descriptor, maps in the order of their keys, fields that are not set left out.
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <vector>

#include "resource/node.h"

namespace holdfast::resource {

// A mapping. Text, times, durations and words are quoted scalars; numbers and booleans are not.
// Fields this version does not know are left out.
Node encode_message(const google::protobuf::Message& message);

// One value: a field, or with `index` 0 and up that element of it.
Node encode_value(const google::protobuf::Message& message,
                  const google::protobuf::FieldDescriptor& field, int index);

// The entries of a map, in the order of their keys.
std::vector<Member> encode_map(const google::protobuf::Message& message,
                               const google::protobuf::FieldDescriptor& field);

// The tree as text. All on one line, without spaces.
std::string write_json(const Node& node);
// Two spaces for each level; ends with a line end.
std::string write_json_pretty(const Node& node);
// Block style; ends with a line end.
std::string write_yaml(const Node& node);

}  // namespace holdfast::resource

// Reaching into a resource by a path of field names: "spec.ports.port". A path goes through every
// element of a list it meets.
#pragma once

#include <string>
#include <string_view>

#include "holdfast/v1/resource.pb.h"

namespace holdfast::resource {

// What a listing shows for "metadata.…" or "spec.…": the values with commas between them, maps as
// key=value, empty if nothing is set. Numbers, booleans and times as in the YAML form; a node's
// announcement as "online" or "offline since 2026-11-15T08:30:00Z".
std::string cell_text(const v1::Resource& resource, std::string_view path);

// Clears the field at `path` within `message`, in every element on the way.
void clear_field(google::protobuf::Message& message, std::string_view path);

// Whether `path` names a field of `type` or of what is in it.
bool is_field(const google::protobuf::Descriptor& type, std::string_view path);

// The resource without what the registry calls secret.
v1::Resource without_secrets(v1::Resource resource);

// `wanted` with the secrets it leaves out taken from `stored`, so that what was read without
// secrets and is written back loses none. An element of a list takes from the element at the same
// place, if the two are otherwise the same.
v1::Resource with_secrets_of(const v1::Resource& stored, v1::Resource wanted);

}  // namespace holdfast::resource

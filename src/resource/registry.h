// The one table from which everything about a kind is derived: its spellings, whether it expires,
// what is secret in it, what a listing shows, how it is validated, and where the store keeps it.
// Messages and fields are not listed here: they come from the descriptor of resource.proto.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "holdfast/v1/resource.pb.h"
#include "resource/kind.h"

namespace holdfast::resource {

// One column of a listing. `path` is as for cell_text() in field_path.h.
struct Column {
  std::string_view header;
  std::string_view path;
  // Shown only when the wide listing is asked for.
  bool wide = false;
};

struct KindInfo {
  // As the member of `body` is called: "networking_config".
  std::string_view name;
  std::string_view plural;
  std::span<const std::string_view> short_names = {};
  // The only name a resource of this kind may have; empty if any may.
  std::string_view singleton_name = {};
  // A node's announcement of itself: rewritten by each heartbeat, gone when it expires.
  bool is_presence = false;
  // Paths within the body that never leave the controller unless asked for.
  std::span<const std::string_view> secret_paths = {};
  // After the name, which every listing begins with.
  std::span<const Column> columns = {};
  // Checks the body alone. Requires: the resource is of this kind.
  Status (*validate_body)(const v1::Resource&) = nullptr;
};

// Every kind, in the order of Kind.
std::span<const KindInfo> all_kinds();
const KindInfo& info(Kind kind);

// Any spelling: name, plural or short name, in any case, with '-', '_' or nothing between words.
// kInvalidArgument, with the nearest spelling, for anything else.
Result<Kind> find_kind(std::string_view spelling);
// The exact name only, as it is stored and sent.
std::optional<Kind> kind_named(std::string_view name);
// Absent if the body is of a kind this version does not know, or there is none.
std::optional<Kind> kind_of(const v1::Resource& resource);

// A resource of this kind with an empty body.
v1::Resource make_resource(Kind kind, std::string_view name);

// The body as a message of its own; null if kind_of() is absent.
const google::protobuf::Message* body_of(const v1::Resource& resource);
// The body, made if the resource has none or one of another kind.
google::protobuf::Message& mutable_body(Kind kind, v1::Resource& resource);

// Where the store keeps a resource: "/service/web".
std::string store_key(Kind kind, std::string_view name);
// What the keys of all resources of a kind begin with: "/service/".
std::string kind_prefix(Kind kind);

struct StoreKey {
  Kind kind;
  std::string name;
  friend bool operator==(const StoreKey&, const StoreKey&) = default;
};
// Absent if `key` is not one that store_key() makes from a valid name.
std::optional<StoreKey> parse_store_key(std::string_view key);

}  // namespace holdfast::resource

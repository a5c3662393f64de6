// Resources as people write them, in YAML or JSON, and back:
//
//   apiVersion: holdfast.dev/v1        optional when read, always written
//   kind: service                      any spelling that find_kind() takes
//   metadata: {name: web, labels: {tier: front}, expires: 2026-11-16T00:00:00Z}
//   spec: {ports: [{port: 8080, protocol: http}], zone_capacity: {a: 100}}
//
// Many at once are YAML documents with `---` between them, or one document
// `kind: list, items: […]`. What is printed reads back as the same resource. Reading checks form
// only; validation.h says whether a resource may be stored.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "holdfast/v1/resource.pb.h"
#include "resource/field_path.h"
#include "resource/node.h"

namespace holdfast::resource {

inline constexpr std::string_view kApiVersion = "holdfast.dev/v1";

enum class Format : uint8_t {
  // JSON if the text begins with `{"` or `{}`, spaces aside; else YAML, which also has `{key: …}`.
  Auto,
  Json,
  Yaml,
};

// Every resource in the text, in its order; none if a YAML text holds none.
Parsed<std::vector<v1::Resource>> parse_resources(std::string_view text,
                                                  Format format = Format::Auto,
                                                  const ParseOptions& options = {});

// The same, with the error as kInvalidArgument "line:column: field: what is wrong".
Result<std::vector<v1::Resource>> parse_documents(std::string_view text,
                                                  Format format = Format::Auto,
                                                  const ParseOptions& options = {});

// One line, no line end. The keys are in the order above. Secrets are printed: remove them first
// with without_secrets(). A body of a kind this version does not know is left out.
std::string to_json(const v1::Resource& resource);
std::string to_json_pretty(const v1::Resource& resource);
std::string to_yaml(const v1::Resource& resource);

// Any number of resources as one text: a `kind: list` in JSON, a stream of documents in YAML.
std::string list_to_json_pretty(std::span<const v1::Resource> resources);
std::string list_to_yaml(std::span<const v1::Resource> resources);

}  // namespace holdfast::resource

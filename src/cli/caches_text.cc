// What `get caches` reads and prints; no waiting.
#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <fmt/format.h>
#include <google/protobuf/descriptor.h>

#include <algorithm>

#include "cli/caches.h"
#include "cli/document.h"
#include "cli/table.h"
#include "cli/times.h"
#include "resource/decode.h"
#include "resource/encode.h"
#include "resource/registry.h"

namespace holdfast::cli {
namespace {

using resource::Node;

Row row_of(const std::string& node, const v1::CachedKind& cache, const CachesText& how) {
  Row row = {node,
             cache.kind(),
             cache.source(),
             std::to_string(cache.generation()),
             cache.has_since() ? age(to_wall(cache.since()), how.now) : "",
             std::to_string(cache.items()),
             cache.reason()};
  if (how.output == Output::Wide) {
    row.push_back(std::to_string(cache.revision()));
    row.push_back(cache.code());
  }
  return row;
}

std::string table_of(const std::vector<v1::GetCachesResponse>& nodes, const CachesText& how) {
  Row headers = {"NODE", "KIND", "SOURCE", "GENERATION", "SINCE", "ITEMS", "REASON"};
  if (how.output == Output::Wide) headers.insert(headers.end(), {"REVISION", "CODE"});
  std::vector<Row> rows;
  for (const v1::GetCachesResponse& node : nodes) {
    for (const v1::CachedKind& cache : node.caches()) {
      rows.push_back(row_of(node.node(), cache, how));
    }
  }
  return render_table(headers, rows);
}

// With the zeros that say something.
Node cache_node(const v1::CachedKind& cache) {
  Node out = Node::mapping();
  const auto add = [&out](std::string key, Node value) {
    out.members.push_back({.key = std::move(key), .value = std::move(value)});
  };
  add("kind", text_node(cache.kind()));
  add("source", text_node(cache.source()));
  add("generation", Node::scalar(std::to_string(cache.generation()), false));
  if (cache.has_since()) add("since", text_node(to_rfc3339(to_wall(cache.since()))));
  add("items", Node::scalar(std::to_string(cache.items()), false));
  add("revision", number_node(cache.revision()));
  if (!cache.code().empty()) add("code", text_node(cache.code()));
  if (!cache.reason().empty()) add("reason", text_node(cache.reason()));
  return out;
}

void fill(Document& document, const v1::GetCachesResponse& node) {
  Node caches = Node::sequence();
  for (const v1::CachedKind& cache : node.caches()) caches.items.push_back(cache_node(cache));
  document.set_text("node", node.node());
  document.set("caches", std::move(caches));
}

Document document_of(const std::vector<v1::GetCachesResponse>& nodes, bool single) {
  if (single && nodes.size() == 1) {
    Document one("caches");
    fill(one, nodes.front());
    return one;
  }
  Node items = Node::sequence();
  for (const v1::GetCachesResponse& node : nodes) {
    Node item = Node::mapping();
    Node caches = Node::sequence();
    for (const v1::CachedKind& cache : node.caches()) caches.items.push_back(cache_node(cache));
    item.members.push_back({.key = "node", .value = text_node(node.node())});
    item.members.push_back({.key = "caches", .value = std::move(caches)});
    items.items.push_back(std::move(item));
  }
  Document list("caches_list");
  list.set("items", std::move(items));
  return list;
}

// Without what a newer node may say besides.
Node known_part(const Node& mapping, const google::protobuf::Descriptor& type) {
  Node out = Node::mapping(mapping.at);
  for (const resource::Member& member : mapping.members) {
    const bool known = type.FindFieldByName(member.key) != nullptr ||
                       type.FindFieldByCamelcaseName(member.key) != nullptr;
    if (known) out.members.push_back(member);
  }
  return out;
}

}  // namespace

bool is_caches(std::string_view kind) {
  const std::string word(kind.substr(0, kind.find('/')));
  return absl::EqualsIgnoreCase(word, "caches") || absl::EqualsIgnoreCase(word, "cache");
}

v1::GetCachesResponse caches_of(const v1::Resource& node) {
  v1::GetCachesResponse out;
  out.set_node(fmt::format("{}/{}", node.kind(), node.metadata().name()));
  if (node.has_proxy()) *out.mutable_caches() = node.proxy().caches();
  if (node.has_agent()) *out.mutable_caches() = node.agent().caches();
  return out;
}

Result<v1::GetCachesResponse> parse_caches(std::string_view json) {
  const Status wrong = absl::DataLossError("the answer is not what a node says of its caches");
  const auto root = resource::read_json(json);
  if (!root || root->shape != Node::Shape::Mapping) return wrong;
  v1::GetCachesResponse out;
  Node known = known_part(*root, *v1::GetCachesResponse::descriptor());
  for (resource::Member& member : known.members) {
    if (member.key != "caches") continue;
    for (Node& item : member.value.items) {
      if (item.shape == Node::Shape::Mapping) {
        item = known_part(item, *v1::CachedKind::descriptor());
      }
    }
  }
  if (!resource::decode_message(known, {.strings = resource::Strings::Quoted}, out) ||
      out.node().empty())
    return wrong;
  return out;
}

std::string render_caches(const std::vector<v1::GetCachesResponse>& nodes, const CachesText& how) {
  switch (how.output) {
    case Output::Json:
      return document_of(nodes, how.single).json();
    case Output::Yaml:
      return document_of(nodes, how.single).yaml();
    case Output::Table:
    case Output::Wide:
      return table_of(nodes, how);
    case Output::Name:
      break;
  }
  std::string names;
  for (const v1::GetCachesResponse& node : nodes) names += fmt::format("{}\n", node.node());
  return names;
}

}  // namespace holdfast::cli

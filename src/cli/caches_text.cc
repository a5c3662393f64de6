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

// Zero is what an unset time becomes on its way.
bool is_set(const google::protobuf::Timestamp& time) {
  return time.seconds() > 0;
}

std::string age_of(const std::optional<WallTime>& time, WallTime now) {
  return time ? age(*time, now) : "";
}

// Which columns there are besides those that always are.
struct Columns {
  bool as_of = false;
  bool wide = false;
};

Row row_of(const NodeCaches& node, const v1::CachedKind& cache, const Columns& columns,
           WallTime now) {
  Row row = {node.said.node(),
             cache.kind(),
             cache.source(),
             std::to_string(cache.generation()),
             is_set(cache.since()) ? age(to_wall(cache.since()), now) : "",
             std::to_string(cache.items())};
  if (columns.as_of) row.push_back(age_of(node.heard, now));
  if (columns.wide) row.insert(row.end(), {std::to_string(cache.revision()), cache.code()});
  row.push_back(cache.reason());
  return row;
}

Row cache_headers(const Columns& columns) {
  Row headers = {"NODE", "KIND", "SOURCE", "GENERATION", "SINCE", "ITEMS"};
  if (columns.as_of) headers.emplace_back("AS OF");
  if (columns.wide) headers.insert(headers.end(), {"REVISION", "CODE"});
  headers.emplace_back("REASON");
  return headers;
}

std::string table_of(const std::vector<NodeCaches>& nodes, const CachesText& how) {
  const Columns columns{
      .as_of = std::ranges::any_of(nodes, [](const auto& node) { return node.heard.has_value(); }),
      .wide = how.output == Output::Wide};
  std::vector<Row> rows;
  for (const NodeCaches& node : nodes) {
    for (const v1::CachedKind& cache : node.said.caches()) {
      rows.push_back(row_of(node, cache, columns, how.now));
    }
  }
  return render_table(cache_headers(columns), rows, columns.wide ? LastColumn::Whole : how.last);
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
  if (is_set(cache.since())) add("since", text_node(to_rfc3339(to_wall(cache.since()))));
  add("items", Node::scalar(std::to_string(cache.items()), false));
  add("revision", number_node(cache.revision()));
  if (!cache.code().empty()) add("code", text_node(cache.code()));
  if (!cache.reason().empty()) add("reason", text_node(cache.reason()));
  return out;
}

std::vector<resource::Member> members_of(const NodeCaches& node) {
  Node caches = Node::sequence();
  for (const v1::CachedKind& cache : node.said.caches()) caches.items.push_back(cache_node(cache));
  std::vector<resource::Member> out;
  const auto add = [&out](std::string key, Node value) {
    out.push_back({.key = std::move(key), .value = std::move(value)});
  };
  add("node", text_node(node.said.node()));
  if (node.heard) add("last_heartbeat", text_node(to_rfc3339(*node.heard)));
  if (node.offline_since) add("offline_since", text_node(to_rfc3339(*node.offline_since)));
  add("caches", std::move(caches));
  return out;
}

Document document_of(const std::vector<NodeCaches>& nodes, bool single) {
  if (single && nodes.size() == 1) {
    Document one("caches");
    for (resource::Member& member : members_of(nodes.front())) {
      one.set(member.key, std::move(member.value));
    }
    return one;
  }
  Node items = Node::sequence();
  for (const NodeCaches& node : nodes) {
    Node item = Node::mapping();
    item.members = members_of(node);
    items.items.push_back(std::move(item));
  }
  Document list("caches_list");
  list.set("items", std::move(items));
  return list;
}

template <typename Spec>
NodeCaches announced(const Spec& spec) {
  NodeCaches out;
  *out.said.mutable_caches() = spec.caches();
  if (is_set(spec.last_heartbeat())) out.heard = to_wall(spec.last_heartbeat());
  if (!spec.announcement().has_offline_since()) return out;
  out.offline_since = to_wall(spec.announcement().offline_since());
  for (v1::CachedKind& cache : *out.said.mutable_caches()) {
    cache.set_source("offline");
    cache.clear_code();
    cache.set_reason(fmt::format("offline since {}", to_rfc3339(*out.offline_since)));
  }
  return out;
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

NodeCaches caches_of(const v1::Resource& node) {
  NodeCaches out;
  if (node.has_proxy()) out = announced(node.proxy());
  if (node.has_agent()) out = announced(node.agent());
  out.said.set_node(fmt::format("{}/{}", node.kind(), node.metadata().name()));
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

std::string render_caches(const std::vector<NodeCaches>& nodes, const CachesText& how) {
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
  for (const NodeCaches& node : nodes) names += fmt::format("{}\n", node.said.node());
  return names;
}

}  // namespace holdfast::cli

#include "resource/codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "resource/decode.h"
#include "resource/encode.h"
#include "resource/input_text.h"
#include "resource/registry.h"

namespace holdfast::resource {
namespace {

using std::string_view;

constexpr string_view kListKind = "list";

bool looks_like_json(string_view text) {
  constexpr string_view kSpace = " \t\r\n";
  text = without_bom(text);
  const size_t brace = text.find_first_not_of(kSpace);
  if (brace == string_view::npos || text[brace] != '{') return false;
  const size_t next = text.find_first_not_of(kSpace, brace + 1);
  return next != string_view::npos && (text[next] == '"' || text[next] == '}');
}

// The parts of a document before they are looked into.
struct Parts {
  const Node* kind = nullptr;
  const Node* metadata = nullptr;
  const Node* spec = nullptr;
  const Node* items = nullptr;
};

// Turns documents into resources. Functions return false after they have noted the error.
class DocumentDecoder {
 public:
  explicit DocumentDecoder(Strings strings) : strings_(strings) {}

  // A resource, or a list of them.
  bool add_document(const Node& document) {
    if (document.shape == Node::Shape::Mapping) {
      const Node* kind = find_member(document, "kind");
      if (kind != nullptr && kind->text == kListKind) return add_list(document);
    }
    return add_resource(document, "");
  }

  std::vector<v1::Resource> take_resources() { return std::move(resources_); }
  ParseError take_error() { return std::move(error_); }

 private:
  bool add_list(const Node& document) {
    constexpr std::array<string_view, 3> kKnown = {"apiVersion", "kind", "items"};
    Parts parts;
    if (!split(document, "", kKnown, parts)) return false;
    if (parts.items == nullptr || parts.items->shape == Node::Shape::Null) return true;
    if (parts.items->shape != Node::Shape::Sequence) {
      return fail(parts.items->at, "items", wrong_shape("a list", *parts.items));
    }
    for (size_t i = 0; i < parts.items->items.size(); ++i) {
      if (!add_resource(parts.items->items[i], fmt::format("items[{}].", i))) return false;
    }
    return true;
  }

  // `prefix` is what paths in this resource begin with.
  bool add_resource(const Node& document, const std::string& prefix) {
    constexpr std::array<string_view, 4> kKnown = {"apiVersion", "kind", "metadata", "spec"};
    Parts parts;
    if (!split(document, prefix, kKnown, parts)) return false;
    if (parts.kind == nullptr) {
      return fail(document.at, prefix + "kind",
                  "is missing; say what this is, as in kind: service");
    }
    if (parts.kind->shape != Node::Shape::Scalar) {
      return fail(parts.kind->at, prefix + "kind",
                  wrong_shape("a word such as service", *parts.kind));
    }
    const auto kind = find_kind(parts.kind->text);
    if (!kind.ok()) {
      return fail(parts.kind->at, prefix + "kind", std::string(kind.status().message()));
    }
    v1::Resource& resource = resources_.emplace_back();
    resource.set_kind(std::string(info(*kind).name));
    auto& body = mutable_body(*kind, resource);
    if (is_given(parts.metadata) &&
        !decode(*parts.metadata, prefix + "metadata", *resource.mutable_metadata())) {
      return false;
    }
    return !is_given(parts.spec) || decode(*parts.spec, prefix + "spec", body);
  }

  bool split(const Node& document, const std::string& prefix, std::span<const string_view> known,
             Parts& out) {
    if (document.shape != Node::Shape::Mapping) {
      return fail(document.at, prefix.substr(0, prefix.find_last_not_of('.') + 1),
                  wrong_shape("a resource with kind, metadata and spec", document));
    }
    for (const Member& member : document.members) {
      if (std::ranges::find(known, member.key) == known.end()) {
        return fail(member.key_at, prefix + key_in_path(member.key),
                    unknown_field(member.key, known), ErrorCode::UnknownField);
      }
      if (member.key == "apiVersion" && !check_version(member.value, prefix)) return false;
      if (member.key == "kind") out.kind = &member.value;
      if (member.key == "metadata") out.metadata = &member.value;
      if (member.key == "spec") out.spec = &member.value;
      if (member.key == "items") out.items = &member.value;
    }
    return true;
  }

  bool check_version(const Node& version, const std::string& prefix) {
    if (version.shape == Node::Shape::Null || version.text == kApiVersion) return true;
    return fail(version.at, prefix + "apiVersion",
                fmt::format("{} is not a version this program reads; use {}",
                            in_quotes(version.text), kApiVersion));
  }

  static bool is_given(const Node* node) {
    return node != nullptr && node->shape != Node::Shape::Null;
  }

  bool decode(const Node& node, std::string path, google::protobuf::Message& out) {
    auto decoded = decode_message(node, {.path = std::move(path), .strings = strings_}, out);
    if (!decoded) error_ = std::move(decoded).error();
    return decoded.has_value();
  }

  bool fail(Position at, std::string field, std::string message,
            ErrorCode code = ErrorCode::WrongValue) {
    error_ = {.code = code, .at = at, .field = std::move(field), .message = std::move(message)};
    return false;
  }

  Strings strings_;
  std::vector<v1::Resource> resources_;
  ParseError error_;
};

Parsed<std::vector<Node>> read_documents(string_view text, Format format,
                                         const ParseOptions& options) {
  if (format == Format::Yaml) return read_yaml(text, options);
  auto document = read_json(text, options);
  if (!document) return std::unexpected(std::move(document).error());
  std::vector<Node> out;
  out.push_back(*std::move(document));
  return out;
}

Node text_node(string_view text) {
  return Node::scalar(std::string(text), true);
}

Node to_node(const v1::Resource& resource) {
  const auto kind = kind_of(resource);
  Node out = Node::mapping();
  const auto add = [&](string_view key, Node value) {
    out.members.push_back({.key = std::string(key), .value = std::move(value)});
  };
  add("apiVersion", text_node(kApiVersion));
  add("kind", text_node(kind ? info(*kind).name : string_view(resource.kind())));
  if (resource.has_metadata()) add("metadata", encode_message(resource.metadata()));
  if (kind) add("spec", encode_message(*body_of(resource)));
  return out;
}

}  // namespace

Parsed<std::vector<v1::Resource>> parse_resources(string_view text, Format format,
                                                  const ParseOptions& options) {
  if (format == Format::Auto) format = looks_like_json(text) ? Format::Json : Format::Yaml;
  const auto documents = read_documents(text, format, options);
  if (!documents) return std::unexpected(documents.error());
  DocumentDecoder decoder(format == Format::Json ? Strings::Quoted : Strings::Literal);
  for (const Node& document : *documents) {
    if (!decoder.add_document(document)) return std::unexpected(decoder.take_error());
  }
  return decoder.take_resources();
}

Result<std::vector<v1::Resource>> parse_documents(string_view text, Format format,
                                                  const ParseOptions& options) {
  auto resources = parse_resources(text, format, options);
  if (!resources) return to_status(resources.error());
  return *std::move(resources);
}

std::string to_json(const v1::Resource& resource) {
  return write_json(to_node(resource));
}

std::string to_json_pretty(const v1::Resource& resource) {
  return write_json_pretty(to_node(resource));
}

std::string to_yaml(const v1::Resource& resource) {
  return write_yaml(to_node(resource));
}

std::string list_to_json_pretty(std::span<const v1::Resource> resources) {
  Node items = Node::sequence();
  for (const v1::Resource& resource : resources) items.items.push_back(to_node(resource));
  Node list = Node::mapping();
  list.members.push_back({.key = "apiVersion", .value = text_node(kApiVersion)});
  list.members.push_back({.key = "kind", .value = text_node(kListKind)});
  list.members.push_back({.key = "items", .value = std::move(items)});
  return write_json_pretty(list);
}

std::string list_to_yaml(std::span<const v1::Resource> resources) {
  std::string out;
  for (const v1::Resource& resource : resources) {
    if (!out.empty()) out += "---\n";
    out += to_yaml(resource);
  }
  return out;
}

}  // namespace holdfast::resource

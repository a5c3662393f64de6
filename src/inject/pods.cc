#include "inject/pods.h"

#include <fmt/format.h>

#include <utility>

#include "base/bytes.h"
#include "base/reason.h"

namespace holdfast::inject {
namespace {

using std::string_view;

struct Kind {
  string_view name;
  string_view group;  // what apiVersion begins with
  std::vector<string_view> template_path;
};

const Kind* find_kind(string_view name, string_view api_version) {
  static const std::vector<Kind> kKinds = {
      {"Pod", "v1", {}},
      {"ReplicationController", "v1", {"spec", "template"}},
      {"Deployment", "apps/", {"spec", "template"}},
      {"Deployment", "extensions/", {"spec", "template"}},
      {"StatefulSet", "apps/", {"spec", "template"}},
      {"DaemonSet", "apps/", {"spec", "template"}},
      {"DaemonSet", "extensions/", {"spec", "template"}},
      {"ReplicaSet", "apps/", {"spec", "template"}},
      {"ReplicaSet", "extensions/", {"spec", "template"}},
      {"Job", "batch/", {"spec", "template"}},
      {"CronJob", "batch/", {"spec", "jobTemplate", "spec", "template"}},
  };
  for (const Kind& kind : kKinds) {
    const bool fits = api_version.empty() || api_version.starts_with(kind.group);
    if (kind.name == name && fits) return &kind;
  }
  return nullptr;
}

Status no_object(string_view what) {
  return coded(absl::StatusCode::kInvalidArgument, "HF7104", what);
}

std::string owner_name(string_view kind, const json::object& object) {
  const json::object* metadata = find_object(object, "metadata");
  std::string name = metadata == nullptr ? "" : find_text(*metadata, "name");
  if (name.empty() && metadata != nullptr) name = find_text(*metadata, "generateName");
  return name.empty() ? std::string(kind) : fmt::format("{} {}", kind, in_quotes(name));
}

string_view shape_of(const json::value& value) {
  switch (value.kind()) {
    case json::kind::object:
      return "an object";
    case json::kind::array:
      return "a list";
    case json::kind::string:
      return "a text";
    case json::kind::bool_:
      return "a truth value";
    case json::kind::null:
      return "empty";
    default:
      return "a number";
  }
}

// Absent and null are of every shape.
Status check_shape(const json::value* value, json::kind wanted, string_view path) {
  if (value == nullptr || value->is_null() || value->kind() == wanted) return absl::OkStatus();
  return no_object(fmt::format("{} is {} where {} must be", path, shape_of(*value),
                               wanted == json::kind::array ? "a list" : "an object"));
}

Status check_containers(const json::object& spec, string_view list, const std::string& path) {
  const json::value* containers = find(spec, list);
  TRY_OK(check_shape(containers, json::kind::array, path));
  if (containers == nullptr || containers->is_null()) return absl::OkStatus();
  size_t index = 0;
  for (const json::value& item : containers->get_array()) {
    const std::string place = fmt::format("{}[{}]", path, index++);
    if (!item.is_object()) {
      return no_object(fmt::format("{} is {} where an object must be", place, shape_of(item)));
    }
    TRY_OK(check_shape(find(item.get_object(), "env"), json::kind::array, place + ".env"));
  }
  return absl::OkStatus();
}

// What the translation writes into, or walks through.
Status check_shapes(const json::object& pod, const std::string& path) {
  TRY_OK(check_shape(find(pod, "metadata"), json::kind::object, path + "metadata"));
  if (const json::object* metadata = find_object(pod, "metadata")) {
    TRY_OK(check_shape(find(*metadata, "annotations"), json::kind::object,
                       path + "metadata.annotations"));
  }
  const json::object& spec = *find_object(pod, "spec");
  for (const char* list : {"initContainers", "containers"}) {
    TRY_OK(check_containers(spec, list, fmt::format("{}spec.{}", path, list)));
  }
  return absl::OkStatus();
}

Status add_pod(json::object& object, const Kind& kind, const std::string& path,
               std::vector<PodPlace>& out) {
  PodPlace place{.pod = &object, .owner = owner_name(kind.name, object), .path = path};
  for (const string_view name : kind.template_path) {
    place.pod = find_object(*place.pod, name);
    if (place.pod == nullptr) return absl::OkStatus();
    place.path += fmt::format("{}.", name);
  }
  if (find_object(*place.pod, "spec") == nullptr) return absl::OkStatus();
  const Status shapes = check_shapes(*place.pod, place.path);
  if (!shapes.ok()) {
    return no_object(fmt::format("{}: {}", place.owner, split_reason(shapes).message));
  }
  out.push_back(std::move(place));
  return absl::OkStatus();
}

Status collect(json::value& document, const std::string& path, size_t depth,
               std::vector<PodPlace>& out) {
  json::object* object = document.if_object();
  const std::string where =
      path.empty() ? "" : fmt::format(" at {}", path.substr(0, path.size() - 1));
  if (object == nullptr) {
    return no_object(fmt::format("no Kubernetes object{}: it is no mapping", where));
  }
  const std::string kind = find_text(*object, "kind");
  if (kind.empty()) {
    return no_object(fmt::format("no Kubernetes object{}: it has no kind", where));
  }
  if (json::value* items = find(*object, "items"); items != nullptr && kind.ends_with("List")) {
    if (items->is_null()) return absl::OkStatus();
    if (!items->is_array()) return no_object(fmt::format("{}: items is no list", kind));
    if (depth == kMaxListDepth) return no_object("a List in a List, too deep");
    size_t index = 0;
    for (json::value& item : items->get_array()) {
      TRY_OK(collect(item, fmt::format("{}items[{}].", path, index++), depth + 1, out));
    }
    return absl::OkStatus();
  }
  const Kind* known = find_kind(kind, find_text(*object, "apiVersion"));
  return known == nullptr ? absl::OkStatus() : add_pod(*object, *known, path, out);
}

}  // namespace

Result<std::vector<PodPlace>> find_pods(json::value& document) {
  std::vector<PodPlace> out;
  TRY_OK(collect(document, "", 0, out));
  return out;
}

}  // namespace holdfast::inject

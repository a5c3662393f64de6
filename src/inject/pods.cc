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
  return name.empty() ? std::string(kind) : fmt::format("{} {}", kind, quoted(name));
}

Status collect(json::value& document, size_t depth, std::vector<PodPlace>& out) {
  json::object* object = document.if_object();
  if (object == nullptr) return no_object("no Kubernetes object: it is no mapping");
  const std::string kind = find_text(*object, "kind");
  if (kind.empty()) return no_object("no Kubernetes object: it has no kind");
  if (json::value* items = find(*object, "items"); items != nullptr && kind.ends_with("List")) {
    if (items->is_null()) return absl::OkStatus();
    if (!items->is_array()) return no_object(fmt::format("{}: items is no list", kind));
    if (depth == kMaxListDepth) return no_object("a List in a List, too deep");
    for (json::value& item : items->get_array()) TRY_OK(collect(item, depth + 1, out));
    return absl::OkStatus();
  }
  const Kind* known = find_kind(kind, find_text(*object, "apiVersion"));
  if (known == nullptr) return absl::OkStatus();
  json::object* pod = object;
  for (const string_view name : known->template_path) {
    pod = find_object(*pod, name);
    if (pod == nullptr) return absl::OkStatus();
  }
  if (find_object(*pod, "spec") != nullptr) out.push_back({pod, owner_name(kind, *object)});
  return absl::OkStatus();
}

}  // namespace

Result<std::vector<PodPlace>> find_pods(json::value& document) {
  std::vector<PodPlace> out;
  TRY_OK(collect(document, 0, out));
  return out;
}

}  // namespace holdfast::inject

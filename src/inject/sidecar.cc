#include "inject/sidecar.h"

#include <fmt/format.h>

#include <utility>

#include "base/bytes.h"
#include "base/reason.h"

namespace holdfast::inject {
namespace {

using std::string_view;

constexpr string_view kProbesVariable = "HOLDFAST_DATAPLANE_PROBES";
constexpr string_view kSeedVariable = "KUMA_DATAPLANE_PROBES";
constexpr string_view kProgram = "holdfastd";
constexpr string_view kListenVariable = "HOLDFAST_PROBE_LISTEN";
constexpr string_view kAgentListenVariable = "HOLDFAST_AGENT_PROBE_LISTEN";
constexpr int kSidecarUser = 5678;
constexpr string_view kAddressVariable = "HOLDFAST_PROBE_ADDRESS";

json::value health_probe(uint16_t port) {
  return {{"httpGet", {{"path", "/healthz"}, {"port", port}}}, {"periodSeconds", 1}};
}

json::object variable(string_view name, string_view value) {
  return {{"name", key(name)}, {"value", key(value)}};
}

std::string listen_address(uint16_t port) {
  return fmt::format("[::]:{}", port);
}

// What the strictest namespaces ask for. The user is the one that redirections let pass.
json::value security_context() {
  return {{"runAsUser", kSidecarUser},
          {"runAsGroup", kSidecarUser},
          {"runAsNonRoot", true},
          {"allowPrivilegeEscalation", false},
          {"readOnlyRootFilesystem", true},
          {"capabilities", {{"drop", json::array{"ALL"}}}},
          {"seccompProfile", {{"type", "RuntimeDefault"}}}};
}

json::object new_sidecar(const SidecarWish& wish) {
  json::object out{{"name", wish.name}, {"image", wish.image}, {"args", json::array{"probe"}}};
  const json::object pod_address{{"name", key(kAddressVariable)},
                                 {"valueFrom", {{"fieldRef", {{"fieldPath", "status.podIP"}}}}}};
  out["env"] = json::array{variable(kProbesVariable, wish.registry),
                           variable(kListenVariable, listen_address(wish.port)), pod_address};
  out["resources"] = {{"requests", {{"cpu", "10m"}, {"memory", "32Mi"}}},
                      {"limits", {{"memory", "128Mi"}}}};
  out["securityContext"] = security_context();
  if (wish.native) {
    // The containers behind it wait until it can be asked.
    out["restartPolicy"] = "Always";
    out["startupProbe"] = health_probe(wish.port);
    out["startupProbe"].as_object()["failureThreshold"] = 60;
  }
  out["readinessProbe"] = health_probe(wish.port);
  return out;
}

// Kubernetes takes $(NAME) and $$ in a variable for references, so JSON's own way to write a dollar
// is used. It can only stand in texts.
std::string without_dollars(string_view json_text) {
  std::string out;
  for (const char c : json_text) {
    if (c == '$') {
      out += "\\u0024";
    } else {
      out += c;
    }
  }
  return out;
}

json::object* find_named(json::array& list, string_view name) {
  for (json::value& item : list) {
    json::object* object = item.if_object();
    if (object != nullptr && find_text(*object, "name") == name) return object;
  }
  return nullptr;
}

json::array* find_list(json::object& object, string_view name) {
  json::value* value = find(object, name);
  return value == nullptr ? nullptr : value->if_array();
}

json::object* find_container(json::object& spec, string_view name) {
  for (const string_view list : {"initContainers", "containers"}) {
    json::array* containers = find_list(spec, list);
    json::object* found = containers == nullptr ? nullptr : find_named(*containers, name);
    if (found != nullptr) return found;
  }
  return nullptr;
}

json::array& made_list(json::object& parent, string_view name, Record& record) {
  if (find_list(parent, name) == nullptr) {
    record.made[key(name)] = to_json(value_of(parent, name));
    parent[key(name)] = json::array();
  }
  return *find_list(parent, name);
}

// Sets the value of one variable, and notes what it was if the container is not ours.
void set_variable(json::object& container, string_view name, string_view value, Record& record) {
  json::array& env = made_list(container, "env", record);
  json::object* there = find_named(env, name);
  const bool same = there != nullptr && find_text(*there, "value") == value;
  if (same) return;
  if (!record.env.contains(key(name))) {
    record.env[key(name)] = to_json(there == nullptr ? Was() : Was(*there));
  }
  if (there == nullptr) {
    env.push_back(variable(name, value));
  } else {
    *there = variable(name, value);
  }
}

// The probes of a sidecar that we made follow when the handler moves.
void move_health_probes(json::object& container, uint16_t from, uint16_t to) {
  for (const string_view name : {"startupProbe", "readinessProbe"}) {
    json::object* probe = find_object(container, name);
    json::object* http = probe == nullptr ? nullptr : find_object(*probe, "httpGet");
    json::value* port = http == nullptr ? nullptr : find(*http, "port");
    if (port != nullptr && port_number(*port) == from) *port = to;
  }
}

const json::object* find_named(const json::array& list, string_view name) {
  for (const json::value& item : list) {
    const json::object* object = item.if_object();
    if (object != nullptr && find_text(*object, "name") == name) return object;
  }
  return nullptr;
}

// "holdfastd" of "registry.example:5000/holdfast/holdfastd:1.2@sha256:00".
string_view image_name(string_view image) {
  image = image.substr(0, image.find('@'));
  image.remove_prefix(image.rfind('/') + 1);  // of npos: nothing
  return image.substr(0, image.find(':'));
}

bool has_variable(const json::object& container, string_view name) {
  const json::array* env = find_array(container, "env");
  return env != nullptr && find_named(*env, name) != nullptr;
}

// The one that tells it where to listen: the handler inside an agent has a key of its own. Options
// may stand before the role.
string_view listen_variable(const json::object& container) {
  for (const string_view list : {"command", "args"}) {
    const json::array* words = find_array(container, list);
    if (words == nullptr) continue;
    for (const json::value& word : *words) {
      if (word == "agent") return kAgentListenVariable;
      if (word == "probe") return kListenVariable;
    }
  }
  return kListenVariable;
}

}  // namespace

bool runs_handler(const json::object& container, const Handler& handler) {
  const std::string image = find_text(container, "image");
  return (!image.empty() && image == handler.image) || image_name(image) == kProgram ||
         has_variable(container, kProbesVariable) || has_variable(container, kSeedVariable);
}

Status check_name(const json::object& spec, const Handler& handler) {
  for (const string_view list : {"initContainers", "containers"}) {
    const json::array* containers = find_array(spec, list);
    const json::object* there =
        containers == nullptr ? nullptr : find_named(*containers, handler.name);
    if (there == nullptr || runs_handler(*there, handler)) continue;
    return coded(absl::StatusCode::kInvalidArgument, "HF7109",
                 fmt::format("container {} has the sidecar's name, but does not run the probe "
                             "handler: its image is no holdfastd, and it has no variable {}",
                             in_quotes(handler.name), kProbesVariable));
  }
  return absl::OkStatus();
}

// Whoever may annotate a pod could have other containers taken away otherwise.
Status check_sidecar(const json::object& spec, const Record& record) {
  if (record.sidecar.empty()) return absl::OkStatus();
  if (record.sidecar != "initContainers" && record.sidecar != "containers") return wrong_record();
  const json::array* list = find_array(spec, record.sidecar);
  const json::object* container = list == nullptr ? nullptr : find_named(*list, record.name);
  if (container == nullptr) return absl::OkStatus();  // taken away since
  return has_variable(*container, kProbesVariable) ? absl::OkStatus() : wrong_record();
}

void put_sidecar(json::object& spec, const SidecarWish& given, const Record& old, Record& record) {
  SidecarWish wish = given;
  wish.registry = without_dollars(given.registry);
  if (json::object* there = find_container(spec, wish.name)) {
    const bool ours = !old.sidecar.empty();
    record.sidecar = old.sidecar;
    record.env = old.env;
    if (ours) move_health_probes(*there, old.port, wish.port);
    set_variable(*there, kProbesVariable, wish.registry, record);
    set_variable(*there, listen_variable(*there), listen_address(wish.port), record);
    if (ours) record.env.clear();
    return;
  }
  record.sidecar = wish.native ? "initContainers" : "containers";
  json::array& list = made_list(spec, record.sidecar, record);
  list.insert(wish.native ? list.begin() : list.end(), new_sidecar(wish));
}

void restore_sidecar(json::object& spec, string_view name, const Record& record) {
  if (!record.sidecar.empty()) {
    json::array* list = find_list(spec, record.sidecar);
    if (list == nullptr) return;
    json::object* container = find_named(*list, name);
    if (container != nullptr) {
      for (auto item = list->begin(); item != list->end(); ++item) {
        if (item->if_object() != container) continue;
        list->erase(item);
        break;
      }
    }
    const json::value* made = find(record.made, record.sidecar);
    if (made != nullptr && list->empty()) restore(spec, record.sidecar, was_from(*made));
    return;
  }
  json::object* container = find_container(spec, name);
  json::array* env = container == nullptr ? nullptr : find_list(*container, "env");
  if (env == nullptr) return;
  for (const auto& member : record.env) {
    json::object* there = find_named(*env, view(member.key()));
    const Was was = was_from(member.value());
    if (there == nullptr) continue;
    if (was && was->is_object()) {
      *there = was->get_object();
      continue;
    }
    for (auto item = env->begin(); item != env->end(); ++item) {
      if (item->if_object() != there) continue;
      env->erase(item);
      break;
    }
  }
  const json::value* made = find(record.made, "env");
  if (made != nullptr && env->empty()) restore(*container, "env", was_from(*made));
}

}  // namespace holdfast::inject

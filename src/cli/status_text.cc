#include "cli/status_text.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "cli/document.h"
#include "cli/table.h"
#include "cli/times.h"
#include "resource/registry.h"
#include "resource/scalar_text.h"

namespace holdfast::cli {
namespace {

using resource::Node;

std::string counted(const std::string& kind) {
  const auto known = resource::kind_named(kind);
  return known ? std::string(resource::info(*known).plural) : kind;
}

// Foreign text on a terminal.
std::string safe_status_text(const std::string& text) {
  const std::string shown = in_quotes(text, 256);
  return shown.substr(1, shown.size() - 2);
}

std::string components(const v1::GetStatusResponse& status, WallTime now, LastColumn last) {
  std::vector<Row> rows;
  for (const v1::ComponentStatus& one : status.components()) {
    rows.push_back({one.name(), std::string(to_word(one.state())),
                    one.has_since() ? age(to_wall(one.since()), now) : "", one.code(),
                    one.reason()});
  }
  if (rows.empty()) return "";
  return render_table({"COMPONENT", "STATE", "FOR", "CODE", "REASON"}, rows, last);
}

std::string nodes(const v1::GetStatusResponse& status) {
  std::vector<Row> rows;
  for (const v1::NodeCount& count : status.nodes()) {
    rows.push_back(
        {counted(count.kind()), std::to_string(count.online()), std::to_string(count.offline())});
  }
  return rows.empty() ? "" : render_table({"NODES", "ONLINE", "OFFLINE"}, rows);
}

// Where several controllers serve at once, one of them does what has to be done by one.
std::string tasks(const v1::GetStatusResponse& status) {
  if (status.tasks_holder().empty())
    return "tasks      nobody does them now: marking nodes offline\n";
  const bool here = status.tasks_holder() == status.controller();
  return fmt::format(
      "tasks      done by {}: marking nodes offline\n",
      here ? "this controller" : "controller " + safe_status_text(status.tasks_holder()));
}

std::string identity(const v1::GetStatusResponse& status, WallTime now) {
  if (status.cluster().empty()) return "identity   no authority yet: holdfast init\n";
  std::string text = "identity   ";
  text += is_rotating(status.phase()) ? fmt::format("rotating: {}", to_word(status.phase()))
                                      : "no rotation";
  if (status.has_certificate_expires()) {
    text += ", certificate expires " + relative(to_wall(status.certificate_expires()), now);
  }
  if (status.has_authority_expires()) {
    text += ", authority " + relative(to_wall(status.authority_expires()), now);
  }
  return text + "\n";
}

Node component_node(const v1::ComponentStatus& component) {
  Node node = Node::mapping();
  const auto add = [&](const char* key, std::string_view text) {
    node.members.push_back({.key = key, .value = text_node(text)});
  };
  add("name", component.name());
  add("state", to_word(component.state()));
  if (component.has_since()) add("since", resource::timestamp_text(component.since()));
  if (!component.code().empty()) add("code", component.code());
  if (!component.reason().empty()) add("reason", component.reason());
  return node;
}

Document status_document(const v1::GetStatusResponse& status) {
  Document document("status", status);
  document.set_text("state", to_word(status.state()));
  document.set_text("phase", to_word(status.phase()));
  Node parts = Node::sequence();
  for (const v1::ComponentStatus& one : status.components()) {
    parts.items.push_back(component_node(one));
  }
  document.set("components", std::move(parts));
  Node counts = Node::sequence();
  for (const v1::NodeCount& count : status.nodes()) {
    Node node = Node::mapping();
    node.members.push_back({.key = "kind", .value = text_node(count.kind())});
    node.members.push_back(
        {.key = "online", .value = number_node(static_cast<int64_t>(count.online()))});
    node.members.push_back(
        {.key = "offline", .value = number_node(static_cast<int64_t>(count.offline()))});
    counts.items.push_back(std::move(node));
  }
  document.set("nodes", std::move(counts));
  document.set_number("watchers", static_cast<int64_t>(status.watchers()));
  return document;
}

}  // namespace

std::string_view to_word(v1::HealthState state) {
  switch (state) {
    case v1::HEALTH_STATE_OK:
      return "ok";
    case v1::HEALTH_STATE_RECOVERING:
      return "recovering";
    case v1::HEALTH_STATE_STARTING:
      return "starting";
    default:
      return "degraded";
  }
}

std::string_view to_word(v1::RotationPhase phase) {
  switch (phase) {
    case v1::ROTATION_PHASE_PREPARE:
      return "prepare";
    case v1::ROTATION_PHASE_DUAL:
      return "dual";
    case v1::ROTATION_PHASE_SWITCH:
      return "switch";
    case v1::ROTATION_PHASE_RETIRE:
      return "retire";
    default:
      return "none";
  }
}

bool is_rotating(v1::RotationPhase phase) {
  return to_word(phase) != "none";
}

Verdict verdict_of(v1::HealthState state) {
  if (state == v1::HEALTH_STATE_OK) return Verdict::Passed;
  return state == v1::HEALTH_STATE_DEGRADED ? Verdict::Failed : Verdict::Warning;
}

std::string render_status(const v1::GetStatusResponse& status, const Console& console) {
  const WallTime now = to_wall(status.now());
  const bool healthy = status.state() == v1::HEALTH_STATE_OK;
  const std::string_view word = healthy ? "healthy" : to_word(status.state());
  std::string text = fmt::format(
      "{}   {} {}   controller {}, version {}, up {}\n",
      status.cluster().empty() ? "(no cluster)" : safe_status_text(status.cluster()),
      console.sign(verdict_of(status.state())), console.painted(verdict_of(status.state()), word),
      safe_status_text(status.controller()), safe_status_text(status.version()),
      age(to_wall(status.started()), now));
  text += components(status, now, console.last_column());
  text += nodes(status);
  text += fmt::format("store      {}, revision {}, {} watching\n", safe_status_text(status.store()),
                      status.revision(), status.watchers());
  if (status.store() == "etcd") text += tasks(status);
  return text + identity(status, now);
}

std::string status_json(const v1::GetStatusResponse& status) {
  return status_document(status).json();
}

std::string status_yaml(const v1::GetStatusResponse& status) {
  return status_document(status).yaml();
}

}  // namespace holdfast::cli

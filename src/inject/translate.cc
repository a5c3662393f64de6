#include "inject/translate.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/reason.h"
#include "inject/annotations.h"
#include "inject/names.h"
#include "inject/patch.h"
#include "inject/pods.h"
#include "inject/sidecar.h"
#include "inject/slots.h"
#include "probe/registry.h"

namespace holdfast::inject {
namespace {

using std::string_view;

constexpr string_view kFirstProbes[] = {"httpGet", "tcpSocket", "grpc"};

// Puts the original action back in the place of the one that asks the handler.
void restore_slot(const Slot& slot) {
  const auto& original = *slot.original.begin();
  for (const string_view action : kFirstProbes) {
    if (!slot.holder->contains(key(action))) continue;
    replace_member(*slot.holder, action, view(original.key()), original.value());
    return;
  }
}

// The action that asks the handler. Fields of a newer version stay, as far as they are httpGet's.
void rewrite_slot(const Slot& slot, string_view path, uint16_t port) {
  if (slot.ours) {
    json::object& http = *find_object(*slot.holder, "httpGet");
    http["path"] = key(path);
    http["port"] = port;
    return;
  }
  const auto& original = *slot.original.begin();
  json::object http;
  if (view(original.key()) == "httpGet") {
    http = original.value().get_object();
    for (const string_view gone : {"scheme", "httpHeaders", "host", "protocol"}) {
      restore(http, gone, Was());
    }
  }
  http["path"] = key(path);
  http["port"] = port;
  replace_member(*slot.holder, view(original.key()), "httpGet", std::move(http));
}

class PodTranslation {
 public:
  PodTranslation(json::object& pod, const InjectOptions& options, std::vector<Warning>& warnings)
      : pod_(pod), options_(options), warnings_(warnings) {}

  Status translate() {
    TRY_OK(read_old());
    std::vector<Warning> found;
    std::vector<Slot> slots = find_slots(pod_, old_, handler(), found);
    const Result<Settings> settings = read_settings(pod_, old_, options_);
    if (slots.empty() && !settings.ok()) return undo();  // there is nothing that they could steer
    TRY(settings_, settings);
    if (settings_.gateway) return undo();
    if (!settings_.enabled) return exclude_real_ports();
    warnings_ = std::move(found);
    if (slots.empty()) return undo();
    if (is_on_host()) return undo();
    TRY_OK(check_name(spec(), handler()));
    if (must_move(slots)) {
      warnings_.clear();
      TRY_OK(undo());
      return translate();  // of what the user wrote
    }
    TRY_OK(plan(slots));
    if (planned_.empty()) return undo();
    TRY_OK(check_container_ports());
    rewrite();
    AnnotationWriter annotations(pod_, old_, record_);
    annotations.enabled(settings_.port);
    annotations.exclude(std::span(&settings_.port, 1));
    return annotations.finish();
  }

  Status undo() {
    TRY_OK(read_old());
    if (!old_.present) return absl::OkStatus();
    std::vector<Warning> ignored;
    for (const Slot& slot : find_slots(pod_, old_, handler(), ignored)) {
      if (slot.ours) restore_slot(slot);
    }
    restore_sidecar(spec(), sidecar_name(), old_);
    restore_annotations(pod_, old_);
    return absl::OkStatus();
  }

 private:
  struct Planned {
    Slot slot;
    std::string path;
  };

  Status read_old() {
    TRY(old_, read_record(pod_));
    return check_sidecar(spec(), old_);
  }

  // Looked up each time: it moves when members of the pod are taken away.
  json::object& spec() const { return *find_object(pod_, "spec"); }

  // The one it has, whatever the options say now.
  std::string sidecar_name() const { return old_.name.empty() ? options_.sidecar : old_.name; }
  Handler handler() const { return {.name = sidecar_name(), .image = options_.image}; }

  // A hook, or an init container that goes on running, came to a pod where it would find the
  // handler that we put there too late. Once only: without the record the handler is not ours.
  bool must_move(const std::vector<Slot>& slots) const {
    return !old_.sidecar.empty() && std::ranges::any_of(slots, [](const Slot& slot) {
      std::vector<std::string> unknown;
      return slot.early && read_action(slot, unknown).ok();
    });
  }

  // The probes of a pod in the node's network are not redirected, and its port would be the node's.
  bool is_on_host() {
    const json::value* host = find(spec(), "hostNetwork");
    const bool on_host = host != nullptr && host->is_bool() && host->get_bool();
    if (on_host) {
      warnings_.push_back(
          {"HF7125", "", "the pod is in the network of its node, so its probes stay as they are"});
    }
    return on_host;
  }

  // Without a handler the kubelet asks the application itself, so that must not be redirected.
  Status exclude_real_ports() {
    TRY_OK(undo());
    old_ = Record();
    std::vector<Warning> ignored;
    std::vector<std::string> unknown;
    std::vector<uint16_t> ports;
    for (const Slot& slot : find_slots(pod_, old_, handler(), ignored)) {
      const Result<probe::Probe> probe = read_action(slot, unknown);
      if (!probe.ok()) {
        leave(slot, "HF7121", split_reason(probe.status()).message);
      } else if (probe->host.empty()) {
        ports.push_back(probe->port);
      }
    }
    std::ranges::sort(ports);
    ports.erase(std::ranges::unique(ports).begin(), ports.end());
    if (ports.empty()) return absl::OkStatus();
    AnnotationWriter annotations(pod_, old_, record_);
    annotations.exclude(ports);
    return record_.annotations.empty() ? absl::OkStatus() : annotations.finish();
  }

  void leave(const Slot& slot, const char* code, string_view why) {
    warnings_.push_back({code, place_of(slot), fmt::format("{}, so it stays as it is", why)});
    if (slot.ours) restore_slot(slot);
  }

  // Which slots can be translated, and the path that each gets.
  Status plan(std::vector<Slot>& slots) {
    for (Slot& slot : slots) {
      std::vector<std::string> unknown;
      const Result<probe::Probe> probe = read_action(slot, unknown);
      if (!probe.ok()) {
        leave(slot, "HF7121", split_reason(probe.status()).message);
        continue;
      }
      if (slot.early) {
        leave(slot, "HF7122",
              slot.hook ? "the handler may not be there when it is called"
                        : "it is started before the handler");
        continue;
      }
      if (probe->port == settings_.port && probe->host.empty()) return taken_port(place_of(slot));
      Result<std::string> path = registry_.add(*probe);
      if (!path.ok()) {
        leave(slot, "HF7121", split_reason(path.status()).message);
        continue;
      }
      for (const std::string& field : unknown) {
        warnings_.push_back({"HF7123", place_of(slot),
                             fmt::format("{} is a field that the handler does not know; the probe "
                                         "is made without it",
                                         in_quotes(field))});
      }
      planned_.push_back({std::move(slot), *std::move(path)});
    }
    return absl::OkStatus();
  }

  Status taken_port(string_view who) const {
    return coded(absl::StatusCode::kInvalidArgument, "HF7101",
                 fmt::format("{}: port {} is the probe handler's; set the annotation {} to another",
                             who, settings_.port, kOwnVirtualProbesPort));
  }

  Status check_container_ports() const {
    for (const string_view list : {"initContainers", "containers"}) {
      const json::array* containers = find_array(spec(), list);
      if (containers == nullptr) continue;
      for (const json::value& item : *containers) TRY_OK(check_ports(item.get_object()));
    }
    return absl::OkStatus();
  }

  Status check_ports(const json::object& container) const {
    const std::string name = find_text(container, "name");
    const json::array* ports = find_array(container, "ports");
    if (name == sidecar_name() || ports == nullptr) return absl::OkStatus();
    for (const json::value& item : *ports) {
      const json::object* port = item.if_object();
      if (port == nullptr) continue;
      const std::string protocol = find_text(*port, "protocol");
      const json::value* number = find(*port, "containerPort");
      const bool tcp = protocol.empty() || protocol == "TCP";
      if (tcp && number != nullptr && port_number(*number) == settings_.port) {
        return taken_port(fmt::format("container {}, containerPort", in_quotes(name)));
      }
    }
    return absl::OkStatus();
  }

  // A pod that is to end does not end before its ordinary containers have; an init container that
  // is probed needs the handler before them; and hooks are called before the next container starts
  // and while all ordinary ones are told to stop.
  bool needs_native() const {
    const std::string policy = find_text(spec(), "restartPolicy");
    return policy == "Never" || policy == "OnFailure" ||
           std::ranges::any_of(planned_,
                               [](const Planned& one) { return one.slot.native || one.slot.hook; });
  }

  void rewrite() {
    record_.port = settings_.port;
    record_.name = sidecar_name();
    const bool native = needs_native();
    for (const Planned& one : planned_) {
      json::value& slots = record_.probes[key(one.slot.container)];
      if (!slots.is_object()) slots.emplace_object();
      slots.get_object()[key(one.slot.name)] = one.slot.original;
      rewrite_slot(one.slot, one.path, settings_.port);
    }
    put_sidecar(spec(),
                {.name = sidecar_name(),
                 .image = options_.image,
                 .port = settings_.port,
                 .registry = registry_.to_json(),
                 .native = native},
                old_, record_);
  }

  json::object& pod_;
  const InjectOptions& options_;
  std::vector<Warning>& warnings_;
  Record old_;
  Record record_;
  Settings settings_;
  probe::Registry registry_;
  std::vector<Planned> planned_;
};

template <typename Edit>
Result<Translation> edit_pods(const json::value& document, const InjectOptions& options,
                              Edit edit) {
  Translation out{.document = document, .patch = {}, .warnings = {}};
  TRY(const std::vector<PodPlace> places, find_pods(out.document));
  for (const PodPlace& place : places) {
    std::vector<Warning> warnings;
    PodTranslation pod(*place.pod, options, warnings);
    const Status edited = edit(pod);
    if (!edited.ok()) {
      const Reason reason = split_reason(edited);
      return coded(edited.code(), reason.code, fmt::format("{}: {}", place.owner, reason.message));
    }
    for (Warning& warning : warnings) {
      warning.place =
          warning.place.empty() ? place.owner : fmt::format("{}: {}", place.owner, warning.place);
      out.warnings.push_back(std::move(warning));
    }
  }
  out.patch = difference(document, out.document);
  return out;
}

}  // namespace

Status check_options(const InjectOptions& options) {
  const auto wrong = [](string_view why) {
    return coded(absl::StatusCode::kInvalidArgument, "HF7110", why);
  };
  if (!is_dns_label(options.sidecar)) {
    return wrong(
        fmt::format("the sidecar's name {} is no container's: use letters in lower case, "
                    "digits and dashes, at most 63",
                    in_quotes(options.sidecar)));
  }
  if (!is_image(options.image)) {
    return wrong(fmt::format("the sidecar's image {} is none", in_quotes(options.image)));
  }
  return absl::OkStatus();
}

Result<Translation> translate(const json::value& document, const InjectOptions& options) {
  return edit_pods(document, options, [](PodTranslation& pod) { return pod.translate(); });
}

Result<Translation> undo(const json::value& document, const InjectOptions& options) {
  return edit_pods(document, options, [](PodTranslation& pod) { return pod.undo(); });
}

}  // namespace holdfast::inject

#include "inject/slots.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/bytes.h"

namespace holdfast::inject {
namespace {

using std::string_view;

constexpr std::array<string_view, 3> kProbes = {"startupProbe", "livenessProbe", "readinessProbe"};
constexpr std::array<string_view, 2> kHooks = {"postStart", "preStop"};
constexpr std::array<string_view, 3> kActions = {"httpGet", "tcpSocket", "grpc"};

class Finder {
 public:
  Finder(const Record& old, const Handler& handler, std::vector<Warning>& warnings)
      : old_(old), handler_(handler), warnings_(warnings) {}

  // One list of containers. Init containers that end are left out.
  void list(json::object& spec, string_view name) {
    json::value* value = find(spec, name);
    if (value == nullptr || !value->is_array()) return;
    const bool init = name == "initContainers";
    const size_t first = slots_.size();
    for (json::value& item : value->get_array()) {
      json::object* container = item.if_object();
      if (container == nullptr) continue;
      const std::string called = find_text(*container, "name");
      if (called == handler_.name && runs_handler(*container, handler_)) {
        mark_early(init ? first : 0);
        beside_ = !init;
      } else if (!init || find_text(*container, "restartPolicy") == "Always") {
        add_container(*container, called, init);
      }
    }
  }

  std::vector<Slot> take() {
    for (Slot& slot : slots_) slot.early = slot.early || (beside_ && slot.hook);
    return std::move(slots_);
  }

 private:
  // The handler stands here: what stands before it and goes on running is started earlier.
  void mark_early(size_t first) {
    for (size_t i = first; i < slots_.size(); ++i) slots_[i].early = slots_[i].native;
  }

  void add_container(json::object& container, const std::string& called, bool native) {
    if (called.empty() || !names_.insert(called).second) {
      const bool nameless = called.empty();
      warnings_.push_back({"HF7124", nameless ? "" : fmt::format("container {}", in_quotes(called)),
                           nameless ? "a container has no name, so its probes stay as they are"
                                    : "it is the second of that name, so its probes stay as they "
                                      "are"});
      return;
    }
    Slot slot{.container = called, .owner = &container, .native = native};
    for (const string_view name : kProbes) {
      slot.name = name;
      if (json::object* holder = find_object(container, name)) add(slot, *holder);
    }
    json::object* lifecycle = find_object(container, "lifecycle");
    if (lifecycle == nullptr) return;
    slot.hook = true;
    for (const string_view name : kHooks) {
      slot.name = name;
      if (json::object* holder = find_object(*lifecycle, name)) add(slot, *holder);
    }
  }

  void add(Slot slot, json::object& holder) {
    slot.holder = &holder;
    if (!slot.hook && holder.contains("exec")) {
      warnings_.push_back(
          {"HF7120", place_of(slot),
           "a command is run inside the container, where nothing is redirected, so it stays as it "
           "is"});
      return;
    }
    const auto held = [&](string_view action) {
      const json::value* value = find(holder, action);
      return value != nullptr && !value->is_null();
    };
    const auto count = std::ranges::count_if(kActions, held);
    if (count == 0) return;
    if (slot.hook && !held("httpGet")) {
      warnings_.push_back(
          {"HF7127", place_of(slot),
           "no kubelet carries out a hook that is neither a command nor httpGet, so "
           "it stays as it is"});
      return;
    }
    if (count > 1) {
      warnings_.push_back(
          {"HF7121", place_of(slot), "it has several actions, so it stays as it is"});
      return;
    }
    const string_view action = *std::ranges::find_if(kActions, held);
    slot.original[key(action)] = *find(holder, action);
    take_recorded(slot);
    slots_.push_back(std::move(slot));
  }

  void take_recorded(Slot& slot) const {
    const json::object* recorded = original_of(old_, slot.container, slot.name);
    const json::object* http = find_object(*slot.holder, "httpGet");
    if (recorded == nullptr || http == nullptr || old_.port == 0) return;
    const json::value* port = find(*http, "port");
    if (port == nullptr || port_number(*port) != old_.port) return;
    slot.original = *recorded;
    slot.ours = true;
  }

  const Record& old_;
  const Handler& handler_;
  std::vector<Warning>& warnings_;
  std::vector<Slot> slots_;
  std::set<std::string, std::less<>> names_;
  // The handler is an ordinary container: it starts with the others and is told to stop with them.
  bool beside_ = false;
};

}  // namespace

std::vector<Slot> find_slots(json::object& pod, const Record& old, const Handler& handler,
                             std::vector<Warning>& warnings) {
  json::object* spec = find_object(pod, "spec");
  if (spec == nullptr) return {};
  Finder finder(old, handler, warnings);
  finder.list(*spec, "initContainers");
  finder.list(*spec, "containers");
  return finder.take();
}

std::string place_of(const Slot& slot) {
  return fmt::format("container {}, {}", in_quotes(slot.container), slot.name);
}

}  // namespace holdfast::inject

// The container that runs the handler: added if the pod has none, else told what to ask.
#pragma once

#include <string>
#include <string_view>

#include "inject/record.h"

namespace holdfast::inject {

// Which container runs it, or is to.
struct Handler {
  std::string name;
  std::string image;
};

// Whether a container of the handler's name is one: by its image (the handler's, or any holdfastd),
// or because it has the variable with the list of probes, whatever is in it.
bool runs_handler(const json::object& container, const Handler& handler);
// HF7109: a container that does not run the handler has its name.
Status check_name(const json::object& spec, const Handler& handler);

struct SidecarWish {
  std::string name;
  std::string image;
  uint16_t port = 0;
  std::string registry;  // JSON
  bool native = false;   // it must run before the other containers start
};

// HF7105: the record calls a container ours that does not run the handler.
Status check_sidecar(const json::object& spec, const Record& record);

// Notes in `record` what undoing it needs.
void put_sidecar(json::object& spec, const SidecarWish& wish, const Record& old, Record& record);

// Takes away what the record says was put there.
void restore_sidecar(json::object& spec, std::string_view name, const Record& record);

}  // namespace holdfast::inject

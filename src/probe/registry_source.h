// Where a handler's list of probes comes from: a file if one is named, else a variable of the
// environment, ours before Kuma's. Reading them is the caller's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "probe/registry.h"

namespace holdfast::probe {

inline constexpr const char* kOurVariable = "HOLDFAST_DATAPLANE_PROBES";
inline constexpr const char* kKumasVariable = "KUMA_DATAPLANE_PROBES";

// What is there; a variable that is set to nothing counts as not set.
struct RegistrySources {
  std::string file_name{};  // empty: none is named
  std::string file_text{};
  std::optional<std::string> ours{};
  std::optional<std::string> kumas{};
};

struct ChosenRegistry {
  Registry registry{};
  std::string from{};  // the file's name or the variable's; empty: nobody gave a list
  std::vector<std::string> warnings{};
};

// kInvalidArgument with the place: "HF7010: HOLDFAST_DATAPLANE_PROBES: probes[2].httpGet.port: …".
Result<ChosenRegistry> choose_registry(const RegistrySources& sources);

}  // namespace holdfast::probe

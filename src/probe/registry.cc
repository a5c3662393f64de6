#include "probe/registry.h"

#include <fmt/format.h>

#include "base/reason.h"
#include "probe/probe_path.h"
#include "probe/probe_rules.h"

namespace holdfast::probe {

Result<std::string> Registry::add(const Probe& probe) {
  if (const Status fits = check_probe(probe); !fits.ok()) {
    return coded(fits.code(), "HF7010", std::string_view(fits.message()));
  }
  for (size_t number = 1;; ++number) {
    std::string path = handler_path(probe, number);
    const auto taken = by_path_.find(path);
    if (taken != by_path_.end() && probes_[taken->second] == probe) return path;
    if (taken != by_path_.end()) continue;
    if (probes_.size() == kMaxProbes) {
      return coded(absl::StatusCode::kResourceExhausted, "HF7011",
                   fmt::format("more than {} probes", kMaxProbes));
    }
    by_path_.emplace(path, probes_.size());
    probes_.push_back(probe);
    paths_.push_back(path);
    return path;
  }
}

const Probe* Registry::find(std::string_view target) const {
  const auto found = by_path_.find(target);
  return found == by_path_.end() ? nullptr : &probes_[found->second];
}

}  // namespace holdfast::probe

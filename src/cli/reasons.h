// Every reason code there is: what `holdfast explain HFnnnn` prints. A code keeps its meaning for
// ever; a test compares this table with the codes in the tree.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

struct ReasonInfo {
  std::string_view code;
  std::string_view title;
  std::string_view meaning;
  std::string_view next;
};

// In order of their codes.
std::vector<ReasonInfo> all_reasons();
// Null if there is none. Also takes "hf5001" and "5001".
const ReasonInfo* find_reason(std::string_view code);
// The rows HF2nnn alone, in order: tunnels, routes and ingress.
std::span<const ReasonInfo> tunnel_reasons();
// The rows HF4nnn alone, in order: the pair, its witness, fencing.
std::span<const ReasonInfo> pair_reasons();
// The rows HF7nnn alone, in order: probes and the injector.
std::span<const ReasonInfo> probe_reasons();
// The rows HF8nnn alone, in order: connections counted in the kernel.
std::span<const ReasonInfo> track_reasons();
// The row as `holdfast explain` shows it.
std::string to_text(const ReasonInfo& reason);

}  // namespace holdfast::cli

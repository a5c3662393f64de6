#include "app/probe_registry.h"

#include <fmt/format.h>

#include <cstdlib>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/private_file.h"
#include "base/reason.h"

namespace holdfast::app {
namespace {

std::optional<std::string> variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? std::nullopt : std::optional<std::string>(text);
}

}  // namespace

Result<probe::ChosenRegistry> read_registry(const config::ProbeSection& config) {
  probe::RegistrySources sources{.file_name = config.registry_file,
                                 .ours = variable(probe::kOurVariable),
                                 .kumas = variable(probe::kKumasVariable)};
  if (!sources.file_name.empty()) {
    Result<std::string> text = read_file(sources.file_name, probe::kMaxRegistryBytes);
    if (!text.ok()) {
      return coded(absl::StatusCode::kInvalidArgument, "HF7052",
                   fmt::format("probe.registry_file: {}", split_reason(text.status()).message));
    }
    sources.file_text = *std::move(text);
  }
  return probe::choose_registry(sources);
}

void log_registry(const probe::ChosenRegistry& chosen) {
  for (const std::string& warning : chosen.warnings) {
    log::warn("list of probes", {{"code", "HF7053"}, {"warning", warning}});
  }
  for (size_t i = 0; i < chosen.registry.probes().size(); ++i) {
    log::info("probe registered", {{"path", chosen.registry.path(i)}, {"from", chosen.from}});
  }
}

}  // namespace holdfast::app

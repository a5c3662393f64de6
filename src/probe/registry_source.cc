#include "probe/registry_source.h"

#include <fmt/format.h>

#include <utility>

#include "base/reason.h"

namespace holdfast::probe {
namespace {

bool is_given(const std::optional<std::string>& variable) {
  return variable && variable->find_first_not_of(" \t\r\n") != std::string::npos;
}

Result<ChosenRegistry> read(const std::string& text, std::string from) {
  Result<Registry> registry = Registry::parse(text);
  if (!registry.ok()) {
    const Reason reason = split_reason(registry.status());
    return coded(registry.status().code(), reason.code.empty() ? "HF7010" : reason.code,
                 fmt::format("{}: {}", from, reason.message));
  }
  return ChosenRegistry{.registry = *std::move(registry), .from = std::move(from)};
}

Result<ChosenRegistry> choose(const RegistrySources& sources) {
  if (!sources.file_name.empty()) return read(sources.file_text, sources.file_name);
  if (is_given(sources.ours)) return read(*sources.ours, kOurVariable);
  if (is_given(sources.kumas)) return read(*sources.kumas, kKumasVariable);
  return ChosenRegistry{};
}

}  // namespace

Result<ChosenRegistry> choose_registry(const RegistrySources& sources) {
  TRY(ChosenRegistry chosen, choose(sources));
  const bool ours = is_given(sources.ours);
  const bool kumas = is_given(sources.kumas);
  const auto warn = [&](std::string text) { chosen.warnings.push_back(std::move(text)); };
  if (chosen.from.empty()) {
    warn(fmt::format("no probe is registered: {} is not set and probe.registry_file names no file",
                     kOurVariable));
  } else if (!sources.file_name.empty() && (ours || kumas)) {
    warn(fmt::format("probe.registry_file counts; {} is not looked at",
                     ours ? kOurVariable : kKumasVariable));
  } else if (ours && kumas && *sources.ours != *sources.kumas) {
    warn(fmt::format("{} and {} differ; the first counts", kOurVariable, kKumasVariable));
  }
  return chosen;
}

}  // namespace holdfast::probe

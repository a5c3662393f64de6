#include "cli/target.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "resource/registry.h"

namespace holdfast::cli {
namespace {

std::unexpected<Failure> wrong(Exit exit, std::string message) {
  return std::unexpected(Failure{exit, "HF6010", std::move(message), ""});
}

}  // namespace

std::expected<Target, Failure> parse_target(const std::string& kind,
                                            std::vector<std::string> names) {
  const size_t slash = kind.find('/');
  if (slash != std::string::npos) {
    if (slash + 1 == kind.size()) {
      return wrong(Exit::Usage, fmt::format("{}: a name must follow the /", in_quotes(kind)));
    }
    names.insert(names.begin(), kind.substr(slash + 1));
  }
  const Result<resource::Kind> found = resource::find_kind(kind.substr(0, slash));
  if (!found.ok()) return wrong(Exit::Usage, std::string(found.status().message()));
  for (const std::string& name : names) {
    if (resource::parse_store_key(resource::store_key(*found, name))) continue;
    return wrong(Exit::BadInput, fmt::format("{} is no resource's name", in_quotes(name)));
  }
  return Target{*found, std::move(names)};
}

}  // namespace holdfast::cli

// Foreign bytes as a registry of probes: what is taken is found by its path, is written as what it
// was read from, and can be sent without ending a line early.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "probe/http_request.h"
#include "probe/registry.h"

namespace holdfast::probe {
namespace {

bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

void check_request(const Probe& probe) {
  const auto* http = std::get_if<HttpGet>(&probe.action);
  if (http == nullptr) return;
  const Hop hop = first_hop(probe, *http, "10.0.0.7");
  const std::string request = http1_request(*http, hop, "agent");
  const size_t lines = static_cast<size_t>(std::ranges::count(request, '\n'));
  // The request, Host, Connection unless the probe has one that does, and the empty line.
  const size_t headers = request_headers(*http, hop, "agent").size();
  HF_CHECK(lines == 4 + headers || lines == 3 + headers, "each header is one line");
  HF_CHECK(request.find("\r\n\r\n") == request.size() - 4, "there is one request");
}

void registry_check(std::string_view bytes) {
  const Result<Registry> registry = Registry::parse(bytes);
  if (!registry.ok()) return;
  for (size_t i = 0; i < registry->probes().size(); ++i) {
    const std::string& path = registry->path(i);
    HF_CHECK(path.starts_with('/') && is_plain(path), path);
    HF_CHECK(registry->find(path) == &registry->probes()[i], "each is found by its path");
    check_request(registry->probes()[i]);
  }
  const Result<Registry> again = Registry::parse(registry->to_json());
  HF_CHECK(again.ok(), registry->to_json());
  HF_CHECK(again->probes() == registry->probes(), "it is written as it was read");
}

}  // namespace
}  // namespace holdfast::probe

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  holdfast::probe::registry_check({reinterpret_cast<const char*>(data), size});
  return 0;
}

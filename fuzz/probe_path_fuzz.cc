// Foreign bytes as a probe's path and as where an application redirects it: what is sent is one
// clean target, and nothing leads to another host.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "probe/http_hop.h"
#include "probe/probe_path.h"
#include "probe/registry.h"

namespace holdfast::probe {
namespace {

bool is_target(std::string_view text) {
  return text.starts_with('/') && !text.contains('#') &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

void probe_path_check(std::string_view bytes) {
  const std::string target = request_target(bytes);
  HF_CHECK(is_target(target), target);
  HF_CHECK(request_target(target) == target, "what is clean stays as it is");

  const Probe probe = {.action = HttpGet{.path = "/a/b?c"}, .port = 8080};
  const Hop from = first_hop(probe, std::get<HttpGet>(probe.action), "10.0.0.7");
  const Result<std::optional<Hop>> next = next_hop(from, bytes);
  if (next.ok() && next->has_value()) {
    HF_CHECK((*next)->host == "10.0.0.7", (*next)->host);
    HF_CHECK(is_target((*next)->target), (*next)->target);
    HF_CHECK((*next)->port != 0, "a port to connect to");
  }

  Registry registry;
  HF_CHECK(registry.add(probe).ok(), "it is a probe");
  const bool known = bytes == "/8080/a/b?c";
  HF_CHECK((registry.find(bytes) != nullptr) == known, "only what is registered is found");
}

}  // namespace
}  // namespace holdfast::probe

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  holdfast::probe::probe_path_check({reinterpret_cast<const char*>(data), size});
  return 0;
}
